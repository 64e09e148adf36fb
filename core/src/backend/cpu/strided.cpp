#include "backend/cpu/strided.h"

#include <algorithm>
#include <cassert>

namespace ronde::inline v0 {

StridedLoop::StridedLoop(const Shape& shape, std::span<const Shape> strides) : count_(shape.count()) {
  assert(strides.size() <= kMaxOperands);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    Axis axis{shape[i], {}};
    for (std::size_t k = 0; k < strides.size(); ++k) axis.strides[k] = strides[k][i];
    Axis* outer = rank_ > 0 ? &axes_[static_cast<std::size_t>(rank_ - 1)] : nullptr;
    bool dense = outer != nullptr;
    for (std::size_t k = 0; k < strides.size() && dense; ++k)
      dense = outer->strides[k] == axis.strides[k] * axis.extent;
    if (dense)
      *outer = {outer->extent * axis.extent, axis.strides};
    else
      axes_[static_cast<std::size_t>(rank_++)] = axis;
  }
  if (rank_ == 0) return;
  inner_extent_ = std::max<std::int64_t>(axes_[static_cast<std::size_t>(rank_ - 1)].extent, 1);
  inner_strides_ = axes_[static_cast<std::size_t>(rank_ - 1)].strides;
  if (rank_ == 1) return;
  runs_ = axes_[static_cast<std::size_t>(rank_ - 2)].extent;
  run_strides_ = axes_[static_cast<std::size_t>(rank_ - 2)].strides;
}

bool StridedLoop::inner_is_dense(int operands) const {
  return inner_extent_ == 1 || std::all_of(inner_strides_.begin(), inner_strides_.begin() + operands,
                                           [](std::int64_t stride) { return stride == 1; });
}

StridedLoop::Place StridedLoop::place_of(std::int64_t index) const {
  Place place{};
  index /= inner_extent_;
  const std::int64_t run = index % runs_;
  place.runs = runs_ - run;
  advance(place.offsets, run_strides_, run);
  index /= runs_;
  for (auto i = static_cast<std::size_t>(std::max(rank_ - 2, 0)); i-- > 0;) {
    place.along[i] = index % axes_[i].extent;
    index /= axes_[i].extent;
    advance(place.offsets, axes_[i].strides, place.along[i]);
  }
  return place;
}

void StridedLoop::to_next_axis(Place& place) const {
  advance(place.offsets, run_strides_, place.runs - runs_);
  place.runs = runs_;
  for (auto i = static_cast<std::size_t>(std::max(rank_ - 2, 0)); i-- > 0;) {
    advance(place.offsets, axes_[i].strides, 1);
    if (++place.along[i] < axes_[i].extent) return;
    advance(place.offsets, axes_[i].strides, -place.along[i]);
    place.along[i] = 0;
  }
}

void for_each_run(ThreadPool& pool, const Shape& shape, std::span<const Shape> strides, RunFunction run,
                  const void* argument) {
  const StridedLoop loop(shape, strides);
  pool.parallel_for(loop.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    loop.for_each_run(begin, end, [&](const StridedLoop::Offsets& offsets, std::int64_t length) {
      run(argument, loop, offsets, length);
    });
  });
}

}  // namespace ronde::inline v0
