/// Small files of /proc and /sys.
#pragma once

#include <fstream>
#include <string>

namespace ronde::inline v0 {

/// Empty when it cannot be read.
inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace ronde::inline v0
