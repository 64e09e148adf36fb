/// The shape of a convolution's result.
#pragma once

#include <cstdint>

#include <ronde/core/kernel_params.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// (n, oh, ow, o) of x (n, h, w, c) and weight OHWI.
inline Shape conv2d_shape(const Tensor& x, const Tensor& weight, const Conv2dParams& p) {
  const auto extent = [](std::int64_t in, std::int64_t padding, std::int64_t taps, std::int64_t dilation,
                         std::int64_t stride) {
    return (in + padding - ((taps - 1) * dilation + 1)) / stride + 1;
  };
  const Padding2d& pad = p.padding;
  return {x.size(0), extent(x.size(1), pad.top + pad.bottom, weight.size(1), p.dilation.h, p.stride.h),
          extent(x.size(2), pad.left + pad.right, weight.size(2), p.dilation.w, p.stride.w), weight.size(0)};
}

}  // namespace ronde::inline v0
