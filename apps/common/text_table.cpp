#include "common/text_table.h"

#include <algorithm>
#include <cctype>

namespace ronde::apps {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell.front())) != 0;
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      // A heading stands where the numbers below it do.
      const bool is_right =
          is_number(row[c]) || (&row == &rows.front() && rows.size() > 1 && is_number(rows[1][c]));
      const std::string gap(widths[c] - row[c].size(), ' ');
      line += "  " + (is_right ? gap + row[c] : row[c] + gap);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace ronde::apps
