/// Configs as JSON text, and layers from it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include <ronde/nn/layer_factory.h>

namespace ronde::test {

using nlohmann::ordered_json;

inline ordered_json to_json(const ConfigValue& value) {
  struct Visitor {
    ordered_json operator()(std::monostate) const { return nullptr; }
    ordered_json operator()(bool x) const { return x; }
    ordered_json operator()(std::int64_t x) const { return x; }
    ordered_json operator()(double x) const { return x; }
    ordered_json operator()(const std::string& x) const { return x; }
    ordered_json operator()(const ConfigList& x) const {
      ordered_json list = ordered_json::array();
      for (const ConfigValue& entry : x) list.push_back(to_json(entry));
      return list;
    }
    ordered_json operator()(const ConfigDict& x) const {
      ordered_json dict = ordered_json::object();
      for (const auto& [key, entry] : x) dict[key] = to_json(entry);
      return dict;
    }
  };
  return std::visit(Visitor{}, value.storage());
}

inline ConfigValue from_json(const ordered_json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  ConfigList list;
  ConfigDict dict;
  for (const auto& [key, entry] : json.items()) {
    list.push_back(from_json(entry));
    dict.emplace_back(key, from_json(entry));
  }
  return json.is_array() ? ConfigValue(list) : ConfigValue(dict);
}

inline std::string text(const Module& layer) {
  return to_json(layer.config()).dump();
}
inline std::unique_ptr<Module> parse(const std::string& class_name, const std::string& json) {
  return layer_from_config(class_name, from_json(ordered_json::parse(json)));
}

/// The keys are exactly these, and a layer made of the config has the same one.
inline void expect_config(const Module& layer, const std::string& expected) {
  EXPECT_EQ(text(layer), ordered_json::parse(expected).dump());
  const auto copy = layer_from_config(layer.class_name(), layer.config());
  EXPECT_EQ(copy->class_name(), layer.class_name());
  EXPECT_EQ(text(*copy), text(layer));
}

}  // namespace ronde::test
