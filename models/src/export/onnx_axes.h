/// The axes of images (h, w, c) and of sequences (steps, c), which are images of one row here.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/core/kernel_params.h>
#include <ronde/core/shape.h>

namespace ronde::inline v0 {

using Sizes = std::vector<std::int64_t>;

inline bool is_sequence(const Shape& shape) {
  return shape.rank() == 2;
}

inline Size2d image_size(const Shape& shape) {
  return is_sequence(shape) ? Size2d{1, shape[0]} : Size2d{shape[0], shape[1]};
}

/// What ONNX wants to know of each axis.
inline Sizes axes_of(const Shape& shape, Size2d size) {
  return is_sequence(shape) ? Sizes{size.w} : Sizes{size.h, size.w};
}

/// First of what is in front of each axis, then of what is behind it.
inline Sizes pads_of(const Shape& shape, Size2d before, Size2d after) {
  return is_sequence(shape) ? Sizes{before.w, after.w} : Sizes{before.h, before.w, after.h, after.w};
}

/// Like `shape`, of so many pixels and channels.
inline Shape shape_like(const Shape& shape, Size2d size, std::int64_t channels) {
  return is_sequence(shape) ? Shape{size.w, channels} : Shape{size.h, size.w, channels};
}

}  // namespace ronde::inline v0
