/// ConfigValue: a small tree of plain values, in which layers, losses and optimizers describe themselves with
/// Keras' keys. The models room turns it into JSON and back, so no JSON header is needed here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

class ConfigValue;
using ConfigList = std::vector<ConfigValue>;
/// Keys keep their order.
class ConfigDict : public std::vector<std::pair<std::string, ConfigValue>> {
 public:
  using vector::vector;
  /// One function for all keys and values: the vector's own would be another one for each length of a key.
  RONDE_API void emplace_back(std::string_view key, ConfigValue value);
};

class RONDE_API ConfigValue {
 public:
  ConfigValue();  // null
  ConfigValue(const ConfigValue&);
  ConfigValue(ConfigValue&&) noexcept;
  ConfigValue& operator=(const ConfigValue&);
  ConfigValue& operator=(ConfigValue&&) noexcept;
  ~ConfigValue();
  ConfigValue(bool value) : value_(value) {}
  ConfigValue(int value) : value_(std::int64_t{value}) {}
  ConfigValue(std::int64_t value) : value_(value) {}
  ConfigValue(double value) : value_(value) {}
  ConfigValue(const char* value) : value_(std::string(value)) {}
  ConfigValue(std::string value) : value_(std::move(value)) {}
  ConfigValue(ConfigList value) : value_(std::move(value)) {}
  ConfigValue(ConfigDict value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<ConfigList>(value_); }
  bool is_dict() const { return std::holds_alternative<ConfigDict>(value_); }

  /// The value as that type (an integer is a double too); else an InputError that says what was found.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const ConfigList& as_list() const;
  const ConfigDict& as_dict() const;

  /// The entry `key` of a dict, or nullptr.
  const ConfigValue* find(const std::string& key) const;
  /// The entry `key` of a dict; an InputError that names it when it is missing.
  const ConfigValue& at(const std::string& key) const;

  using Storage =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, ConfigList, ConfigDict>;
  const Storage& storage() const { return value_; }

 private:
  Storage value_;
};

}  // namespace ronde::inline v0
