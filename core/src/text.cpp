#include <ronde/core/text.h>

#include <locale.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>

#include <ronde/core/counted.h>

namespace ronde::inline v0 {

namespace {

/// While it lives, this thread formats numbers as in the locale "C".
class PlainNumbers {
 public:
  PlainNumbers() : before_(uselocale(plain())) {}
  ~PlainNumbers() { uselocale(before_); }
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;

 private:
  static locale_t plain() {
    static const locale_t locale = newlocale(LC_NUMERIC_MASK, "C", static_cast<locale_t>(nullptr));
    return locale;
  }

  locale_t before_;
};

}  // namespace

static_assert(std::is_trivially_destructible_v<TextPiece>);  // or every message has code that cleans up

void TextPiece::append_to(std::string& text) const {
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, Object>) {
          text += value.text_of(value.object);
        } else if constexpr (std::is_same_v<T, double>) {
          text += formatted("%.9g", value);
        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char>) {
          text += std::to_string(value);
        } else {
          text += value;
        }
      },
      value_);
}

std::string formatted(const char* format, double value) {
  const PlainNumbers plain_numbers;
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // "nan", whatever its sign
  std::array<char, 512> text{};  // more than %.99f of the largest number
  const int length = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string concatenate(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.append_to(text);
  return text;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text += cat(text.empty() ? "" : separator, part);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string hex_digits(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string to_string(const Counted& counted) {
  const auto& [count, thing, plural] = counted;
  if (count == 1) return cat("1 ", thing);
  return plural.empty() ? cat(grouped(count), ' ', thing, 's') : cat(grouped(count), ' ', plural);
}

std::string group_digits(std::string number) {
  const std::size_t first = number.starts_with("-") ? 1 : 0;
  for (std::size_t i = number.size(); i > first + 3;) {
    i -= 3;
    number.insert(i, 1, ',');
  }
  return number;
}

}  // namespace ronde::inline v0
