/// What a net sees of stored values: value * scale + offset.
#pragma once

#include <type_traits>

namespace ronde::inline v0 {

/// In the wider of both types; integers in double, so that scaling by 1.0 / 255 gives the float that a
/// division by 255 does.
template <class T, class From>
using ScaledIn = std::conditional_t<std::is_integral_v<From>, double, std::common_type_t<T, From>>;

template <class T, class From>
constexpr T scaled(From value, ScaledIn<T, From> scale, ScaledIn<T, From> offset) {
  return static_cast<T>(static_cast<ScaledIn<T, From>>(value) * scale + offset);
}

}  // namespace ronde::inline v0
