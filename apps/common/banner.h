/// The lines a trainer begins with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ronde::apps {

/// What runs where, a line for each: {"ranks", "2, with 1 thread each"}.
using BannerLines = std::vector<std::pair<std::string, std::string>>;

/// A title and the lines, aligned, as text.
std::string banner(const std::string& title, const BannerLines& lines);

}  // namespace ronde::apps
