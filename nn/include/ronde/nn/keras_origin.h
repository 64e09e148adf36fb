/// What a Keras file's description of an object tells of it by names alone.
#pragma once

#include <string>

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

/// Whether {"class_name", "config"} is of a class of Keras. Keras 3 says which module a class is from: one of
/// the same name may be a program's own. Keras 2 does not, and marks a program's own in the name, "my>Dense".
bool is_of_keras(const ConfigValue& described);

/// Whether an option of a layer is a regularizer or a constraint: no output depends on it.
bool is_for_training_only(const std::string& option);

}  // namespace ronde::inline v0
