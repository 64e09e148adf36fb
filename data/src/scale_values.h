#pragma once

#include <cstdint>

#include <ronde/core/scaled.h>

namespace ronde::inline v0 {

/// scaled() of all values. Input and output never overlap, which lets the loop vectorise.
template <class T, class From>
void scale_values(const From* __restrict x, std::int64_t count, T* __restrict to, double scale,
                  double offset) {
  using Wide = ScaledIn<T, From>;
  const auto wide_scale = static_cast<Wide>(scale), wide_offset = static_cast<Wide>(offset);
  for (std::int64_t i = 0; i < count; ++i) to[i] = scaled<T>(x[i], wide_scale, wide_offset);
}

}  // namespace ronde::inline v0
