/// Options of a configuration, as Keras writes them: one that is null is as one that is missing.
#pragma once

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

/// Null where the option is missing.
inline const ConfigValue* find_option(const ConfigValue& options, const char* key) {
  const ConfigValue* value = options.find(key);
  return value && !value->is_null() ? value : nullptr;
}

inline double number_option(const ConfigValue& options, const char* key, double otherwise) {
  const ConfigValue* value = find_option(options, key);
  return value ? value->as_double() : otherwise;
}

/// What `make` makes of options: what would be a wrong argument in a program is a wrong value in a file.
template <class F>
auto made_of_options(F&& make) {
  try {
    return make();
  } catch (const UsageError& error) {
    throw InputError(error.what());
  }
}

}  // namespace ronde::inline v0
