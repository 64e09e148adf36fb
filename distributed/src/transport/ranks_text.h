/// Ranks, for people to read.
#pragma once

#include <string>
#include <vector>

namespace ronde::inline v0 {

/// "rank 3", "ranks 0, 2-5", of ascending ranks.
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace ronde::inline v0
