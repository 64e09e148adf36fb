/// Checks of shapes that name the layer.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// `shape` is (n, h, w, c).
void require_images(const Module& layer, const Shape& shape);
/// The window lies inside the images, with margins around them, at least once.
void require_window_fits(const Module& layer, const Shape& shape, Size2d window, Size2d dilation,
                         Padding padding, const Margins2d& margins = {});
/// Both extents are positive and at most `most`, of which no product of two overflows.
void require_positive(const Module& layer, const char* what, Size2d size,
                      std::int64_t most = std::numeric_limits<std::int32_t>::max());
/// `shape` is (n, ..., channels), and `axis` -1 or its last.
void require_last_axis(const Module& layer, std::int64_t axis, const Shape& shape);

}  // namespace ronde::inline v0
