/// The lines a trainer begins with, and how counts and lists are written.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ronde::apps {

/// What runs where, a line for each: {"ranks", "2, with 1 thread each"}.
using BannerLines = std::vector<std::pair<std::string, std::string>>;

/// A title and the lines, aligned, as text.
std::string banner(const std::string& title, const BannerLines& lines);

/// 1199882 -> "1,199,882"
std::string grouped(long long number);

/// 1 and "rank" -> "1 rank"; 2,000 and "rank" -> "2,000 ranks"
std::string counted(long long count, const std::string& thing);

/// {"a", "b"} -> "a, b"
std::string joined(const std::vector<std::string>& words, const std::string& separator = ", ");

}  // namespace ronde::apps
