/// What the global pooling layers have in common.
#pragma once

#include <ronde/nn/global_pooling_options.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

ConfigDict global_pooling_config(const Module& layer, const GlobalPoolingOptions& options);
GlobalPoolingOptions read_global_pooling(const LayerConfig& config);

}  // namespace ronde::inline v0
