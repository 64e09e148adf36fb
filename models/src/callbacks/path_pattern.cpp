#include "callbacks/path_pattern.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <ronde/core/error.h>

#include "callbacks/python_number.h"
#include "files/wildcard.h"

namespace ronde::inline v0 {

namespace {

/// What stands behind the colon: [0][width][.precision][type].
struct Spec {
  bool zeros = false;
  int width = 0;
  std::optional<int> precision;
  char type = 0;
};

struct Field {
  std::string name;
  std::string spec;
};

[[noreturn]] void fail(const std::string& pattern, const std::string& why) {
  throw UsageError(cat("Failed to format this callback filepath: \"", pattern, "\": ", why));
}

/// Reads digits from `text` at `at`; 0 when there are none. At most 99, so that no width can exhaust the
/// memory.
int read_number(const std::string& text, std::size_t& at) {
  int number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && number < 100)
    number = number * 10 + (text[at++] - '0');
  return number;
}

Spec parse_spec(const std::string& text, const std::string& pattern) {
  Spec spec;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '0') spec.zeros = true;
  spec.width = read_number(text, at);
  if (at < text.size() && text[at] == '.') spec.precision = read_number(text, ++at);
  if (at < text.size()) spec.type = text[at++];
  const bool known = spec.type == 0 || std::string("dfFeEgG").find(spec.type) != std::string::npos;
  if (at != text.size() || !known || spec.width > 99 || spec.precision.value_or(0) > 99)
    fail(pattern, cat("unknown format \"", text, "\""));
  return spec;
}

std::string format_double(double value, const Spec& spec) {
  const std::string format =
      cat(spec.zeros ? "%0" : "%", spec.width, ".", spec.precision.value_or(6), spec.type);
  return formatted(format.c_str(), value);
}

std::string format_value(const PatternValue& value, const Spec& spec, const std::string& pattern) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const bool as_integer = whole && (spec.type == 0 || spec.type == 'd') && !spec.precision;
  if (spec.type == 'd' && !as_integer) fail(pattern, "format d is for whole numbers");
  if (spec.type == 0 && spec.precision) fail(pattern, "a precision needs one of f, e, g");
  if (spec.type != 0 && !as_integer)
    return format_double(whole ? static_cast<double>(*whole) : std::get<double>(value), spec);
  std::string text = whole ? std::to_string(*whole) : python_number(std::get<double>(value));
  const auto width = static_cast<std::size_t>(spec.width);
  if (text.size() < width)
    text.insert(text[0] == '-' && spec.zeros ? 1 : 0, width - text.size(), spec.zeros ? '0' : ' ');
  return text;
}

/// Calls `literal(char)` and `field(Field)` for the pieces of a pattern.
template <class Literal, class OnField>
void scan(const std::string& pattern, Literal&& literal, OnField&& field) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c != '{' && c != '}') {
      literal(c);
    } else if (at + 1 < pattern.size() && pattern[at + 1] == c) {
      literal(c);
      ++at;
    } else {
      const auto end = pattern.find('}', at);
      if (c == '}' || end == std::string::npos) fail(pattern, "a brace stands alone");
      const std::string inside = pattern.substr(at + 1, end - at - 1);
      const auto colon = inside.find(':');
      field(Field{inside.substr(0, colon), colon == std::string::npos ? "" : inside.substr(colon + 1)});
      at = end;
    }
  }
}

bool is_of_number(char c) {
  return c != 0 && std::string_view("0123456789+-. einfaENIFA").find(c) != std::string_view::npos;
}

/// The last `count` of the parts between slashes; nothing where there are fewer.
std::optional<std::string> last_parts(const std::string& path, std::int64_t count) {
  std::size_t begin = path.size() + 1;
  for (; count > 0; --count) {
    if (begin == 0) return {};
    const std::size_t slash = begin < 2 ? std::string::npos : path.rfind('/', begin - 2);
    begin = slash == std::string::npos ? 0 : slash + 1;
  }
  return path.substr(begin);
}

bool leads_elsewhere(const std::string& path) {
  const std::filesystem::path parts(path);
  return std::any_of(parts.begin(), parts.end(),
                     [](const std::filesystem::path& part) { return part == "." || part == ".."; });
}

}  // namespace

std::string format_pattern(const std::string& pattern, const PatternLookup& look_up) {
  std::string result;
  scan(
      pattern, [&](char c) { result += c; },
      [&](const Field& field) {
        const std::optional<PatternValue> value = look_up(field.name);
        if (!value) fail(pattern, cat("there is no \"", field.name, "\""));
        result += format_value(*value, parse_spec(field.spec, pattern), pattern);
      });
  return result;
}

std::vector<std::string> names_in_pattern(const std::string& pattern) {
  std::vector<std::string> names;
  scan(
      pattern, [](char) {}, [&](const Field& field) { names.push_back(field.name); });
  return names;
}

bool pattern_needs_logs(const std::string& pattern) {
  const std::vector<std::string> names = names_in_pattern(pattern);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name != "epoch" && name != "batch"; });
}

std::optional<std::string> path_of_pattern(const std::string& pattern, const std::string& path) {
  const std::string shape = wildcards_of(pattern);
  const std::size_t folder = shape.rfind('/', shape.find(kWildcard)) + 1;  // 0 where there is none
  const std::string own = shape.substr(folder);
  const std::optional<std::string> name = last_parts(path, 1 + std::count(own.begin(), own.end(), '/'));
  if (!name || leads_elsewhere(*name) || !matches_wildcards(*name, own, is_of_number)) return {};
  return shape.substr(0, folder) + *name;
}

}  // namespace ronde::inline v0
