/// The dtypes of a file's inputs, to which Keras casts what a net gets.
#pragma once

#include <set>
#include <string>

#include <ronde/nn/config.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Those that the config of a net lists, or that are all of it; null for another layer.
const ConfigList* layers_in(const ConfigValue& config);

/// "mixed_bfloat16", from a name or a policy {"class_name": "DTypePolicy", "config": {"name": ...}}; empty
/// where nothing is said.
std::string dtype_in(const ConfigValue& config);

/// Of all inputs of `net` and the nets in it but those that Embeddings alone take, which make whole numbers
/// of them in any case. `described` is the net's model_config.
std::set<std::string> input_dtypes(const ConfigValue& described, const Module& net);

}  // namespace ronde::inline v0
