/// Names of files that a pattern of ModelCheckpoint stands for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::inline v0 {

inline constexpr char kWildcard = '*';

/// "{epoch:02d}-a{{.h5" -> "*-a{.h5". UsageError for a brace that stands alone.
std::string wildcards_of(const std::string& pattern);
/// Whether `name` is `pattern`, in which each wildcard stands for any text.
bool matches_wildcards(std::string_view name, std::string_view pattern);
/// Empty when there is no such directory; IoError when it cannot be read.
std::vector<std::filesystem::path> entries_of_directory(const std::filesystem::path& directory);
/// The files that a pattern can have become, as it goes down the directories. IoError.
std::vector<std::filesystem::path> expand_pattern(const std::string& pattern);
/// Deletes what killed processes left of files of a pattern (Note [Abandoned files]): a run that goes on may
/// give its files other names. What cannot be looked at or deleted stays.
void delete_abandoned_files(const std::string& pattern);

}  // namespace ronde::inline v0
