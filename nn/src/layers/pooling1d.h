/// What the pooling layers of sequences have in common.
#pragma once

#include <ronde/nn/pooling1d_options.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

void check_pooling(const Module& layer, const Pooling1DOptions& options);
/// What the operation on a row needs; `input` is (n, steps, c).
Pool2dOptions pooling_window(const Module& layer, const Pooling1DOptions& options, const Shape& input);
ConfigDict pooling_config(const Module& layer, const Pooling1DOptions& options);
Pooling1DOptions read_pooling1d(const LayerConfig& config);

}  // namespace ronde::inline v0
