#include "files/wildcard.h"

#include <ronde/core/error.h>

namespace ronde::inline v0 {

std::string wildcards_of(const std::string& pattern) {
  std::string result;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    const bool doubled = at + 1 < pattern.size() && pattern[at + 1] == c;
    if (c != '{' && c != '}') {
      result += c;
    } else if (doubled) {
      result += c;
      ++at;
    } else {
      const auto end = pattern.find('}', at);
      require<UsageError>(c == '{' && end != std::string::npos, "\"", pattern, "\": a brace stands alone");
      result += kWildcard;
      at = end;
    }
  }
  return result;
}

bool matches_wildcards(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0;
  std::size_t retry_name = 0, retry_pattern = std::string_view::npos;  // behind the last wildcard
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == kWildcard) {
      retry_pattern = ++p;
      retry_name = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++n, ++p;
    } else if (retry_pattern != std::string_view::npos) {
      p = retry_pattern;
      n = ++retry_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == kWildcard) ++p;
  return p == pattern.size();
}

bool is_temporary_name(std::string_view name) {
  const auto mark = name.rfind(".tmp.");
  if (mark == std::string_view::npos) return false;
  const std::string_view number = name.substr(mark + 5);
  return !number.empty() && number.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace ronde::inline v0
