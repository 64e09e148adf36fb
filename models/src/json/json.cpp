#include "json/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <ronde/core/counted.h>
#include <ronde/core/utf8.h>

#include "files/nesting.h"

namespace ronde::inline v0 {

namespace {

using Json = nlohmann::ordered_json;

/// Larger than any description of a net, and than what names a million arrays: a few bytes of a zip archive
/// could otherwise become all that memory holds.
constexpr std::size_t kMaxText = std::size_t{128} << 20;

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

/// `depth`: of the lists and dicts around it.
Json encode(const ConfigValue& value, std::size_t depth) {
  require<UsageError>(depth < kMaxJsonDepth || !(value.is_list() || value.is_dict()),
                      "[save] lists and dicts are nested deeper than the ", kMaxJsonDepth,
                      " that a file holds, ", kMaxNetDepth, " levels of nets within nets");
  return std::visit(
      [depth](const auto& held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, ConfigList>) {
          Json list = Json::array();
          for (const ConfigValue& item : held) list.push_back(encode(item, depth + 1));
          return list;
        } else if constexpr (std::is_same_v<T, ConfigDict>) {
          Json dict = Json::object();
          for (const auto& [key, item] : held) dict[to_characters(key)] = encode(item, depth + 1);
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

/// Makes the values of a text while it is read. What nlohmann's own objects would cost is the square of their
/// keys: they look for each among all before it.
class Builder {
 public:
  ConfigValue take() { return std::move(result_); }

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value <= kMost ? add(static_cast<std::int64_t>(value)) : add(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(const std::string& text) { return add(from_characters(text)); }
  bool binary(const Json::binary_t&) { return false; }  // no text has any

  bool start_object(std::size_t) { return open(ConfigDict()); }
  bool key(const std::string& name) {
    require<InputError>(open_.back().keys.insert(name).second, "JSON with a key that comes twice");
    open_.back().dict().emplace_back(from_characters(name), ConfigValue());
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(ConfigList()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    throw InputError(cat("not JSON: ", error.what()));
  }

 private:
  /// A list or an object that has not ended.
  struct Open {
    std::variant<ConfigDict, ConfigList> values;
    std::unordered_set<std::string> keys;

    ConfigDict& dict() { return std::get<ConfigDict>(values); }
  };

  bool open(std::variant<ConfigDict, ConfigList> values) {
    require<InputError>(open_.size() < kMaxJsonDepth, "JSON nested deeper than ", kMaxJsonDepth);
    open_.push_back({std::move(values), {}});
    return true;
  }
  bool close() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    return std::visit([this](auto& values) { return add(std::move(values)); }, ended.values);
  }
  bool add(ConfigValue value) {
    if (open_.empty())
      result_ = std::move(value);
    else if (auto* list = std::get_if<ConfigList>(&open_.back().values))
      list->push_back(std::move(value));
    else
      open_.back().dict().back().second = std::move(value);
    return true;
  }

  std::vector<Open> open_;  // outermost first
  ConfigValue result_;
};

}  // namespace

std::string to_json(const ConfigValue& value) {
  return encode(value, 0).dump();
}

ConfigValue from_json(const std::string& text) {
  require<InputError>(text.size() <= kMaxText, "JSON of ", counted(text.size(), "byte"),
                      ", expected at most ", grouped(kMaxText));
  Builder builder;
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace ronde::inline v0
