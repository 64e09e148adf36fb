/// Arithmetic of counts that cannot overflow: a batch size or a number of epochs may be the largest number
/// there is, which means "all of them".
///
///     const std::int64_t steps = ceil_divide(samples, batch);  // the last batch may be smaller
#pragma once

#include <concepts>
#include <limits>

namespace ronde::inline v0 {

/// How many parts of `b` there are in `a`, the last one perhaps not full. `b` is positive.
template <std::integral T>
constexpr T ceil_divide(T a, T b) {
  return static_cast<T>(a / b + (a % b > 0 ? 1 : 0));
}

/// The least multiple of `step` that is not below `a`; it must be a number of the type.
template <std::integral T>
constexpr T round_up(T a, T step) {
  return static_cast<T>(ceil_divide(a, step) * step);
}

/// a * b, or the largest number when that is larger. Both are not negative.
template <std::integral T>
constexpr T product_or_most(T a, T b) {
  constexpr T kMost = std::numeric_limits<T>::max();
  return b > 0 && a > kMost / b ? kMost : static_cast<T>(a * b);
}

}  // namespace ronde::inline v0
