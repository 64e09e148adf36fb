/// What a Keras file's description of an object tells of it by names alone.
#pragma once

#include <string>

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

/// Whether {"class_name", "config"} is of a class of Keras. Keras 3 says which module a class is from: one of
/// the same name may be a program's own. Keras 2 does not, and marks a program's own in the name, "my>Dense".
bool is_of_keras(const ConfigValue& described);

/// What a .keras file describes, with names for classes that are not Keras' own that no class of Keras has:
/// "package>Dense", as it was registered, or "module.Dense". A program's own Dense computes something else.
ConfigValue with_foreign_names(const ConfigValue& value);
/// And back: as the file has them.
ConfigValue with_own_names(const ConfigValue& value);

/// Whether an option of a layer is a regularizer or a constraint: no output depends on it.
bool is_for_training_only(const std::string& option);

}  // namespace ronde::inline v0
