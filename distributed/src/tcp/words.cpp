#include "tcp/words.h"

#include <fstream>

namespace ronde::inline v0 {

std::string after(const std::string& prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : "";
}

std::string hex_digits(std::string_view bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace ronde::inline v0
