/// Note [hard_sigmoid]: Keras 3 calls relu6(x + 3) / 6 so, Keras 2 min(max(x / 5 + 1 / 2, 0), 1), and a
/// layer's config has no more than the name. So a file of Keras 2 with that name is refused; and files
/// written here name the module, too, {"module": "keras.ops", "class_name": "function", "config":
/// "hard_sigmoid"}, which Keras 3 opens and Keras 2, where there is no such module, does not.
#pragma once

#include <string>

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

/// A description of a net with the function as files have it.
ConfigValue with_named_hard_sigmoid(const ConfigValue& net);
/// An InputError that names the layer where a file of this version of Keras means Keras 2's.
void refuse_old_hard_sigmoid(const ConfigValue& net, const std::string& keras_version);

}  // namespace ronde::inline v0
