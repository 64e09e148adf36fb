#include "tcp/words.h"

#include <fstream>

namespace ronde::inline v0 {

std::string after(const std::string& prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : "";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace ronde::inline v0
