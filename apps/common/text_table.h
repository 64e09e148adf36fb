/// Rows of cells, aligned, for a terminal.
#pragma once

#include <string>
#include <vector>

namespace ronde::apps {

/// Each line begins with two spaces. Cells that begin with a digit stand on the right of their column; the
/// first row is the heading.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace ronde::apps
