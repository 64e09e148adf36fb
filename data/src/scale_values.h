/// What a net sees of values in files: value * scale + offset.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ronde::inline v0 {

/// Computes in the wider of both types; bytes in double, so that scaling by 1.0 / 255 gives the float that a
/// division by 255 does. Input and output never overlap, which lets the loop vectorise.
template <class T, class From>
void scale_values(const From* __restrict x, std::int64_t count, T* __restrict to, double scale,
                  double offset) {
  using Wide = std::conditional_t<std::is_integral_v<From>, double, std::common_type_t<T, From>>;
  const auto wide_scale = static_cast<Wide>(scale), wide_offset = static_cast<Wide>(offset);
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(static_cast<Wide>(x[i]) * wide_scale + wide_offset);
}

}  // namespace ronde::inline v0
