/// Visits the elements of strided views side by side.
///
///     for_each_element(threads_, out.shape(), [](float& y, float x) { y = 2 * x; }, view<float>(out), ...);
///
/// Axes that lie densely behind one another in all views are merged first, so that contiguous tensors of any
/// rank are one flat loop, which the compiler vectorises.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include <ronde/core/tensor.h>
#include <ronde/core/thread_pool.h>

namespace ronde::inline v0 {

/// A nest of loops over `Shape`, with one stride per operand and axis.
class StridedLoop {
 public:
  static constexpr int kMaxOperands = 4;
  using Offsets = std::array<std::int64_t, kMaxOperands>;

  StridedLoop(const Shape& shape, std::span<const Shape> strides);

  std::int64_t count() const { return count_; }
  /// Elements along the innermost axis.
  std::int64_t inner_extent() const { return inner_extent_; }
  /// Step of operand `k` along the innermost axis.
  std::int64_t inner_stride(int k) const { return inner_strides_[static_cast<std::size_t>(k)]; }
  bool inner_is_dense(int operands) const;

  /// Calls `run(offsets, length)` for the pieces of elements [begin, end) that lie along the innermost axis.
  template <class F>
  void for_each_run(std::int64_t begin, std::int64_t end, F&& run) const {
    if (begin >= end) return;  // an axis may have no elements
    const std::int64_t skipped = begin % inner_extent_;  // of the first run
    begin -= skipped;
    Place place = place_of(begin);
    Offsets first = place.offsets;
    advance(first, inner_strides_, skipped);
    run(std::as_const(first), std::min(inner_extent_, end - begin) - skipped);
    while ((begin += inner_extent_) < end) {
      if (place.runs > 1) {
        --place.runs;
        advance(place.offsets, run_strides_, 1);
      } else {
        to_next_axis(place);
      }
      run(std::as_const(place.offsets), std::min(inner_extent_, end - begin));
    }
  }

 private:
  /// Where a run begins: its index along each axis but the two innermost ones, its offset in each operand,
  /// and how many runs are left along the axis outside of it.
  struct Place {
    std::array<std::int64_t, Shape::kMaxRank> along;
    Offsets offsets;
    std::int64_t runs;
  };
  Place place_of(std::int64_t index) const;
  /// From the last of these runs to the first one behind it.
  void to_next_axis(Place& place) const;
  static void advance(Offsets& offsets, const Offsets& strides, std::int64_t by) {
    for (std::size_t k = 0; k < kMaxOperands; ++k) offsets[k] += by * strides[k];
  }

  struct Axis {
    std::int64_t extent;
    Offsets strides;
  };
  std::array<Axis, Shape::kMaxRank> axes_{};  // outermost first
  int rank_ = 0;
  std::int64_t count_;
  std::int64_t inner_extent_ = 1;
  Offsets inner_strides_{};
  std::int64_t runs_ = 1;  // along the axis outside of the innermost one
  Offsets run_strides_{};
};

template <class T>
struct StridedView {
  T* data;
  const Shape& strides;
};

/// `tensor`, which must outlive it, as elements of type T.
template <class T>
StridedView<T> view(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.strides()};
}

/// Elements that a thread gets at least; less is not worth waking it.
inline constexpr std::int64_t kElementGrain = 16384;

/// What is done to the elements of one run: `loop` has their steps.
using RunFunction = void (*)(const void* argument, const StridedLoop& loop,
                             const StridedLoop::Offsets& offsets, std::int64_t length);

/// Calls `run(argument, ...)` for all runs of a loop over `shape`, split over `pool`.
void for_each_run(ThreadPool& pool, const Shape& shape, std::span<const Shape> strides, RunFunction run,
                  const void* argument);

/// Calls `f(element of each view)` for all elements of `shape`, split over `pool`. Of each function only what
/// it does along a run is compiled: there are more than a hundred.
template <class F, class... Ts>
void for_each_element(ThreadPool& pool, const Shape& shape, F f, StridedView<Ts>... views) {
  const auto along = [=, ... data = views.data](const StridedLoop& loop, const StridedLoop::Offsets& offsets,
                                                std::int64_t length) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      const auto run = [&](auto*... from) {
        if (loop.inner_is_dense(sizeof...(Ts))) {
          for (std::int64_t i = 0; i < length; ++i) f(from[i]...);
        } else {
          for (std::int64_t i = 0; i < length; ++i) f(from[i * loop.inner_stride(k)]...);
        }
      };
      run((data + offsets[k])...);
    }
    (std::index_sequence_for<Ts...>{});
  };
  const std::array strides{views.strides...};
  for_each_run(
      pool, shape, strides,
      [](const void* argument, const StridedLoop& loop, const StridedLoop::Offsets& offsets,
         std::int64_t length) { (*static_cast<const decltype(along)*>(argument))(loop, offsets, length); },
      &along);
}

}  // namespace ronde::inline v0
