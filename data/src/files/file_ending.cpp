#include <ronde/data/file_ending.h>

#include <algorithm>

namespace ronde::inline v0 {
namespace {

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool has_ending(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  return std::equal(ending.begin(), ending.end(), path.end() - static_cast<std::ptrdiff_t>(ending.size()),
                    [](char wanted, char c) { return wanted == small(c); });
}

}  // namespace ronde::inline v0
