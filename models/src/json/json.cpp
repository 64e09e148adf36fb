#include "json/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <type_traits>

#include <ronde/core/utf8.h>

namespace ronde::inline v0 {

namespace {

using Json = nlohmann::ordered_json;

/// Deeper nesting than any net has: a file could otherwise exhaust the stack.
constexpr int kMaxDepth = 100;

/// Note [Bytes that are not UTF-8]: JSON holds characters, the name of a file any bytes. A byte b that is
/// part of no character is written as the character U+10FF00 + b, of private use, and whoever reads it gets
/// the byte. So that each text comes back as it was, these characters themselves are written byte by byte
/// too.
constexpr std::string_view kBytesBegin = "\xf4\x8f\xbe\x80";  // U+10FF80; U+10FFFF is the last there is

bool stands_for_byte(std::string_view character) {
  return character.size() == kBytesBegin.size() && character >= kBytesBegin;
}

void append_byte(std::string& to, unsigned char byte) {
  to += "\xf4\x8f";
  to += static_cast<char>(byte < 0xC0 ? 0xBE : 0xBF);
  to += static_cast<char>(0x80 | (byte & 0x3F));
}

unsigned char byte_of(std::string_view character) {
  const auto part = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  return static_cast<unsigned char>((part(2) == 0xBE ? 0x80 : 0xC0) | (part(3) & 0x3F));
}

std::string to_characters(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const bool is_character = length > 0 && !stands_for_byte(text.substr(at, length));
    if (is_character)
      result += text.substr(at, length);
    else
      append_byte(result, static_cast<unsigned char>(text[at]));
    at += is_character ? length : 1;
  }
  return result;
}

/// The inverse; `text` is UTF-8.
std::string from_characters(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, utf8_length(text.substr(at)));
    if (stands_for_byte(character))
      result += static_cast<char>(byte_of(character));
    else
      result += character;
    at += character.size();
  }
  return result;
}

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
          for (const auto& [key, item] : held) dict[to_characters(key)] = encode(item);
          return dict;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return to_characters(held);
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
      return from_characters(json.get<std::string>());
    case Json::value_t::array: {
      ConfigList list;
      for (const Json& item : json) list.push_back(decode(item));
      return list;
    }
    case Json::value_t::object: {
      ConfigDict dict;
      for (const auto& [key, item] : json.items()) dict.emplace_back(from_characters(key), decode(item));
      return dict;
    }
    default:
      return {};
  }
}

}  // namespace

std::string to_json(const ConfigValue& value) {
  return encode(value).dump();
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
