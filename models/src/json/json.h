/// JSON text <-> ConfigValue.
#pragma once

#include <string>

#include <ronde/nn/config.h>

namespace ronde::inline v0 {

/// One line, keys in their order, numbers that read back the same; a whole double keeps its ".0", which Keras
/// 3 needs in a learning rate. Text may hold any bytes, as paths do: `from_json` gives them back.
std::string to_json(const ConfigValue& value);
/// InputError for text that is not JSON, or has a key twice.
ConfigValue from_json(const std::string& text);

}  // namespace ronde::inline v0
