/// exact_text: a number with all of its digits, and no more. For text that is compared between ranks: two
/// numbers that differ must not look alike.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace ronde::inline v0 {

inline std::string exact_text(double value) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

}  // namespace ronde::inline v0
