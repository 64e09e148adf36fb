#include <ronde/core/text.h>

#include <cstdio>

#include <ronde/core/counted.h>

namespace ronde::inline v0 {

TextPiece::TextPiece(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  owned_ = buffer;
}

std::string concatenate(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) text += piece.view();
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
