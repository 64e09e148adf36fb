#include "files/wildcard.h"

#include <algorithm>
#include <system_error>

#include <ronde/core/error.h>
#include <ronde/core/new_file.h>

namespace ronde::inline v0 {

namespace fs = std::filesystem;

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

// To let the last wildcard take one more is enough, as all take the same characters.
bool matches_wildcards(std::string_view name, std::string_view pattern, bool (*may_have)(char)) {
  std::size_t n = 0, p = 0;
  std::size_t behind_name = 0, behind_pattern = std::string_view::npos;  // the last wildcard and its text
  while (n < name.size()) {
    const bool is_wildcard = p < pattern.size() && pattern[p] == kWildcard;
    if (is_wildcard ? may_have(name[n]) : p < pattern.size() && pattern[p] == name[n]) {
      ++n, ++p;
      if (is_wildcard) behind_name = n, behind_pattern = p;
    } else if (behind_pattern != std::string_view::npos && may_have(name[behind_name])) {
      n = ++behind_name;
      p = behind_pattern;
    } else {
      return false;
    }
  }
  return p == pattern.size();
}

std::vector<fs::path> entries_of_directory(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw IoError(cat(directory.string(), ": cannot be read: ", error.message()));
  return entries;
}

std::vector<fs::path> expand_pattern(const std::string& pattern) {
  std::string wild = wildcards_of(pattern);
  std::replace(wild.begin(), wild.end(), '*', kWildcard);
  std::vector<fs::path> found{pattern.starts_with('/') ? fs::path("/") : fs::path()};
  for (const fs::path& part : fs::path(wild).relative_path()) {
    const std::string name = part.string();
    std::vector<fs::path> next;
    for (const fs::path& parent : found) {
      if (name.find(kWildcard) == std::string::npos) {
        next.push_back(parent / part);
        continue;
      }
      for (const fs::path& entry : entries_of_directory(parent.empty() ? "." : parent))
        if (matches_wildcards(entry.filename().string(), name)) next.push_back(parent / entry.filename());
    }
    found = std::move(next);
  }
  return found;
}

void delete_abandoned_files(const std::string& pattern) {
  try {
    for (const fs::path& file : expand_pattern(cat(pattern, ".tmp.", kWildcard)))
      if (is_temporary_name(file.filename().string())) delete_if_abandoned(file.string());
  } catch (const IoError&) {
    // Whoever writes there will say so.
  }
}

}  // namespace ronde::inline v0
