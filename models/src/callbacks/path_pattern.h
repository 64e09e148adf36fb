#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ronde::inline v0 {

/// A value in a pattern: a count or a measured number.
using PatternValue = std::variant<std::int64_t, double>;
using PatternLookup = std::function<std::optional<PatternValue>(const std::string& name)>;

/// Python's str.format for numbers: {epoch}, {epoch:02d}, {val_loss:.2f}, {loss:.3e}, {{ and }}. UsageError
/// for a name that the look-up does not know and for a format that does not fit.
std::string format_pattern(const std::string& pattern, const PatternLookup& look_up);

/// The names in the pattern, in its order.
std::vector<std::string> names_in_pattern(const std::string& pattern);
/// Whether one of them is another than `epoch` and `batch`.
bool pattern_needs_logs(const std::string& pattern);

/// The path that the pattern became where `path` has its name: a file of a run tells names, not folders
/// (SECURITY.md). As many last parts of `path` count as the pattern has from its first value, or its last
/// slash, on; nothing where they are not of the pattern.
std::optional<std::string> path_of_pattern(const std::string& pattern, const std::string& path);

}  // namespace ronde::inline v0
