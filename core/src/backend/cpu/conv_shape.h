/// The shape of a convolution's result.
#pragma once

#include <cstdint>

#include <ronde/core/kernel_params.h>
#include <ronde/core/shape.h>

namespace ronde::inline v0 {

/// (n, oh, ow, o) of x (n, h, w, c) and weight OHWI.
inline Shape conv2d_shape(const Shape& x, const Shape& weight, const Conv2dParams& p) {
  const auto extent = [](std::int64_t in, std::int64_t padding, std::int64_t taps, std::int64_t dilation,
                         std::int64_t stride) {
    return (in + padding - ((taps - 1) * dilation + 1)) / stride + 1;
  };
  const Padding2d& pad = p.padding;
  return {x[0], extent(x[1], pad.top + pad.bottom, weight[1], p.dilation.h, p.stride.h),
          extent(x[2], pad.left + pad.right, weight[2], p.dilation.w, p.stride.w), weight[0]};
}

}  // namespace ronde::inline v0
