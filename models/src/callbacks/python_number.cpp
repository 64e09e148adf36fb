#include "callbacks/python_number.h"

#include <array>
#include <charconv>
#include <cmath>

namespace ronde::inline v0 {

std::string python_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 400> buffer{};
  const auto print = [&](std::chars_format format) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
    return std::string(buffer.data(), end);
  };
  // Python writes an exponent below 1e-4 and from 1e16 on; to_chars' own choice is the shorter text.
  const double size = std::abs(value);
  if (size != 0.0 && (size < 1e-4 || size >= 1e16)) return print(std::chars_format::scientific);
  const std::string text = print(std::chars_format::fixed);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

}  // namespace ronde::inline v0
