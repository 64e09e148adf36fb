#include "keras_file/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

namespace ronde::inline v0 {

namespace {

using Json = nlohmann::ordered_json;

/// Deeper nesting than any net has: a file could otherwise exhaust the stack.
constexpr int kMaxDepth = 100;

Json encode(const ConfigValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, ConfigList>) {
          Json list = Json::array();
          for (const ConfigValue& item : held) list.push_back(encode(item));
          return list;
        } else if constexpr (std::is_same_v<T, ConfigDict>) {
          Json dict = Json::object();
          for (const auto& [key, item] : held) dict[key] = encode(item);
          return dict;
        } else if constexpr (std::is_same_v<T, double>) {
          require(std::isfinite(held), "a config holds ", held, ", which JSON cannot");
          return held;
        } else {
          return held;
        }
      },
      value.storage());
}

ConfigValue decode(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return json.get<double>();
      [[fallthrough]];
    case Json::value_t::number_integer:
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      ConfigList list;
      for (const Json& item : json) list.push_back(decode(item));
      return list;
    }
    case Json::value_t::object: {
      ConfigDict dict;
      for (const auto& [key, item] : json.items()) dict.emplace_back(key, decode(item));
      return dict;
    }
    default:
      return {};
  }
}

}  // namespace

std::string to_json(const ConfigValue& value) {
  try {
    return encode(value).dump();
  } catch (const nlohmann::json::exception& error) {  // text that is not UTF-8
    throw Error(cat("cannot be written as JSON: ", error.what()));
  }
}

ConfigValue from_json(const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open, outermost first
  const auto guard = [&keys](int level, nlohmann::json::parse_event_t event, const Json& value) {
    using Event = nlohmann::json::parse_event_t;
    require<InputError>(level <= kMaxDepth, "JSON nested deeper than ", kMaxDepth);
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    require<InputError>(event != Event::key || keys.back().insert(value.get<std::string>()).second,
                        "JSON with a key that comes twice");
    return true;
  };
  try {
    return decode(Json::parse(text, guard));
  } catch (const nlohmann::json::exception& error) {
    throw InputError(cat("not JSON: ", error.what()));
  }
}

}  // namespace ronde::inline v0
