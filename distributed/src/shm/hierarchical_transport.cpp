#include "shm/hierarchical_transport.h"

#include <algorithm>

#include <ronde/core/error.h>

#include "transport/reduction.h"

namespace ronde::inline v0 {

HierarchicalTransport::HierarchicalTransport(std::unique_ptr<Transport> base,
                                             std::unique_ptr<NodeTransport> node, Refine refine)
    : base_(std::move(base)), node_(std::move(node)), refine_(std::move(refine)) {
  const Place place = base_->place();
  std::int64_t own = place.local_size;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(place.size));
  base_->allgatherv(sizes.data(), &own, std::vector<std::int64_t>(sizes.size(), sizeof own));
  const bool is_even = std::count(sizes.begin(), sizes.end(), own) == place.size;
  if (is_even) slices_ = place.local_size;
  cross_ = base_->split(place.local_rank < slices_ ? place.local_rank : -1, place.cross_rank);
}

std::unique_ptr<Transport> HierarchicalTransport::split(int color, int key) {
  std::unique_ptr<Transport> part = base_->split(color, key);
  return part ? refine_(std::move(part)) : nullptr;
}

std::string HierarchicalTransport::description() const {
  const Place p = place();
  return cat("shared memory on each of ", p.cross_size, " nodes, ", base_->description(), " between them");
}

void HierarchicalTransport::reserve(const ReductionSize& reduction) {
  const bool is_wide = reduction.dtype == DType::bf16 && !reduction.is_scattered;
  scratch_.reserve(is_wide ? reduction.count * std::int64_t{sizeof(float)} : 0);
  base_->reserve(reduction.is_scattered ? reduction : ReductionSize{});
}

void HierarchicalTransport::allreduce(void* data, std::int64_t count, DType dtype, Reduction op) {
  if (dtype == DType::bf16) {
    // Rounded once, not on each level.
    float* wide = scratch_.get<float>(count);
    widen(data, count, wide);
    allreduce(wide, count, DType::f32, op);
    narrow(wide, count, data);
    return;
  }
  const Reduction sum = op == Reduction::average ? Reduction::sum : op;
  node_->allreduce_between(data, count, dtype, sum, slices_, [&](void* slice, std::int64_t length) {
    if (length == 0) return;  // on all nodes alike
    cross_->allreduce(slice, length, dtype, sum);
    if (op == Reduction::average) divide(slice, length, dtype, place().size);
  });
}

}  // namespace ronde::inline v0
