/// Extents of windows that slide over an image, by Keras' rules.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

struct Windows {
  Size2d out;  ///< how many fit
  Padding2d padding;
};

/// `window` is the extent that one window covers, dilation included.
Windows place_windows(const char* op, const Tensor& x, Size2d window, Size2d stride, Padding padding);

}  // namespace ronde::inline v0
