/// Layers in the configs of those that wrap them (Bidirectional, TimeDistributed).
#pragma once

#include <memory>

#include "module/layer_config.h"

namespace ronde::inline v0 {

/// With the module that Keras 3 looks for, and for a functional net the class that both Kerases have there.
ConfigDict wrapped_layer(const Module& layer);
/// nullptr where there is none.
std::unique_ptr<Module> read_wrapped_layer(const LayerConfig& config, const char* key);

}  // namespace ronde::inline v0
