/// Extents of windows that slide over an image, by Keras' rules.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

struct Windows {
  Size2d out;  ///< how many fit
  Padding2d padding;
};

/// `window` is the extent that one window covers, dilation included.
Windows place_windows(const char* op, Size2d image, Size2d window, Size2d stride, Padding padding);

inline Size2d image_size(const Tensor& x) {
  return {x.size(1), x.size(2)};
}

/// An error if one of them is negative, or 2^31 or more.
void require_margins(const char* op, const Margins2d& margins);

/// Where those of a convolution lie in an image, with the margins around it.
struct PlacedConv2d {
  Size2d out;
  Conv2dParams params;
};
PlacedConv2d place_conv2d(Size2d image, const Tensor& weight, const Conv2dOptions& options);

/// Where the windows of pooling lie in an image.
struct PlacedPool {
  Size2d out;
  Pool2dParams params;
  DType argmax_type;
};
PlacedPool place_pool(const char* op, Size2d image, const Pool2dOptions& options);

}  // namespace ronde::inline v0
