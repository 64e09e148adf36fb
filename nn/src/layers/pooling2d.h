/// What the pooling layers have in common.
#pragma once

#include <ronde/nn/pooling2d_options.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

void check_pooling(const Module& layer, const Pooling2DOptions& options);
/// What the operation needs, once the input's shape is checked.
Pool2dOptions pooling_window(const Module& layer, const Pooling2DOptions& options, const Shape& input);
ConfigDict pooling_config(const Module& layer, const Pooling2DOptions& options);
Pooling2DOptions read_pooling(const LayerConfig& config);

}  // namespace ronde::inline v0
