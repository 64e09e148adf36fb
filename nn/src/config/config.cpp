#include <ronde/nn/config.h>

namespace ronde::inline v0 {

namespace {

const char* kind(const ConfigValue& value) {
  static constexpr const char* kNames[] = {"null",     "a bool", "an integer", "a number",
                                           "a string", "a list", "a dict"};
  return kNames[value.storage().index()];
}

template <class T>
const T& get(const ConfigValue& value, const char* expected) {
  const T* found = std::get_if<T>(&value.storage());
  require<InputError>(found != nullptr, "expected ", expected, ", found ", kind(value));
  return *found;
}

}  // namespace

void ConfigDict::emplace_back(std::string_view key, ConfigValue value) {
  vector::emplace_back(key, std::move(value));
}

// Not inline: g++ 12 would warn of uninitialised values wherever a variant this wide is moved.
ConfigValue::ConfigValue() = default;
ConfigValue::ConfigValue(const ConfigValue&) = default;
ConfigValue::ConfigValue(ConfigValue&&) noexcept = default;
ConfigValue& ConfigValue::operator=(const ConfigValue&) = default;
ConfigValue& ConfigValue::operator=(ConfigValue&&) noexcept = default;
ConfigValue::~ConfigValue() = default;

bool ConfigValue::as_bool() const {
  return get<bool>(*this, "a bool");
}
std::int64_t ConfigValue::as_int() const {
  return get<std::int64_t>(*this, "an integer");
}
double ConfigValue::as_double() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*integer);
  return get<double>(*this, "a number");
}
const std::string& ConfigValue::as_string() const {
  return get<std::string>(*this, "a string");
}
const ConfigList& ConfigValue::as_list() const {
  return get<ConfigList>(*this, "a list");
}
const ConfigDict& ConfigValue::as_dict() const {
  return get<ConfigDict>(*this, "a dict");
}

const ConfigValue* ConfigValue::find(const std::string& key) const {
  for (const auto& [name, value] : as_dict())
    if (name == key) return &value;
  return nullptr;
}

const ConfigValue& ConfigValue::at(const std::string& key) const {
  const ConfigValue* value = find(key);
  require<InputError>(value != nullptr, "key \"", key, "\" is missing");
  return *value;
}

}  // namespace ronde::inline v0
