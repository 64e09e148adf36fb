/// PoolShape of a pooling layer.
#pragma once

#include <ronde/core/shape.h>

#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

/// x (n, h, w, c), out (n, oh, ow, c)
inline PoolShape pool_shape(const Shape& x, const Shape& out, const Pool2dParams& params) {
  return {.h = x[1],
          .w = x[2],
          .c = x[3],
          .oh = out[1],
          .ow = out[2],
          .window_h = params.window.h,
          .window_w = params.window.w,
          .stride_h = params.stride.h,
          .stride_w = params.stride.w,
          .top = params.padding.top,
          .left = params.padding.left};
}

inline bool windows_overlap(const Pool2dParams& params) {
  return params.stride.h < params.window.h || params.stride.w < params.window.w;
}

}  // namespace ronde::inline v0
