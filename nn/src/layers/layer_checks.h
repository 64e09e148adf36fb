/// Checks of options and channels that name the layer.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// There are filters, as many in each group.
void require_filters(const Module& layer, std::int64_t filters, std::int64_t groups = 1);
void require_depth_multiplier(const Module& layer, std::int64_t multiplier);
/// There are channels, as many for each group.
void require_groups(const Module& layer, std::int64_t channels, std::int64_t groups);
/// The last axis of x has as many as the weights were made for.
void require_channels(const Module& layer, const Variable& x, std::int64_t channels);
/// The kernel, strides and dilation of a convolution of images or sequences have positive extents
/// (image_checks.h, sequences.h).
template <class Options>
void require_positive_window(const Module& layer, const Options& options) {
  require_positive(layer, "kernel", options.kernel);
  require_positive(layer, "strides", options.strides);
  require_positive(layer, "dilation", options.dilation);
}
void require_not_negative(const Module& layer, const char* what, std::initializer_list<std::int64_t> values);

}  // namespace ronde::inline v0
