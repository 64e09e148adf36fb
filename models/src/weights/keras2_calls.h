/// A net's description for Keras 2 where that differs from Keras 3's.
#pragma once

#include <ronde/nn/config.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// The model_config of a net with its MultiHeadAttentions and their calls as Keras 2 describes them: Note
/// [Arguments of calls]. It also wants the shapes of their inputs, which may be null.
ConfigValue with_calls_of_keras2(const ConfigValue& net);
/// UsageError where such a description does not tell the order of Graph::layers(), by which weights are told
/// apart in files: it names a key, and its layers, before a value that was given without a name.
void require_order_of_keras2(const Module& net);

}  // namespace ronde::inline v0
