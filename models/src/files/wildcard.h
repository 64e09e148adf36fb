/// Names of files that a pattern of ModelCheckpoint stands for.
#pragma once

#include <string>
#include <string_view>

namespace ronde::inline v0 {

inline constexpr char kWildcard = '*';

/// "{epoch:02d}-a{{.h5" -> "*-a{.h5". UsageError for a brace that stands alone.
std::string wildcards_of(const std::string& pattern);
/// Whether `name` is `pattern`, in which each wildcard stands for any text.
bool matches_wildcards(std::string_view name, std::string_view pattern);
/// Whether it is a name under which `atomic_write_file` builds a file: "a.h5.tmp.1234".
bool is_temporary_name(std::string_view name);

}  // namespace ronde::inline v0
