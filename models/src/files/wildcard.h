/// Names of files that a pattern of ModelCheckpoint stands for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::inline v0 {

inline constexpr char kWildcard = '\0';  // which no name has

inline bool is_any(char) {
  return true;
}

/// "{epoch:02d}-a{{.h5" -> a wildcard and "-a{.h5". UsageError for a brace that stands alone.
std::string wildcards_of(const std::string& pattern);
/// Whether `name` is `pattern`, in which each wildcard stands for one or more such
/// characters.
bool matches_wildcards(std::string_view name, std::string_view pattern, bool (*may_have)(char) = is_any);
/// Empty when there is no such directory; IoError when it cannot be read.
std::vector<std::filesystem::path> entries_of_directory(const std::filesystem::path& directory);
/// The files that a pattern can have become, as it goes down the directories; a "*" stands for anything too.
/// IoError.
std::vector<std::filesystem::path> expand_pattern(const std::string& pattern);
/// Deletes what killed processes left of files of a pattern (Note [Abandoned files]): a run that goes on may
/// give its files other names. What cannot be looked at or deleted stays.
void delete_abandoned_files(const std::string& pattern);

}  // namespace ronde::inline v0
