#include "common/terminal_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <ronde/core/text.h>
#include <ronde/models/terminal.h>

namespace ronde::apps {
namespace {

constexpr std::size_t kDeepIndent = 6;  // of a second column that would be too narrow beside the first

// Of UTF-8, in characters.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Where the second column begins; of a line that has none, where its text does.
std::size_t column_of(const std::string& line) {
  const std::size_t gap = line.find("  ", indent_of(line));
  const std::size_t column = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return column == std::string::npos ? indent_of(line) : column;
}

bool is_paragraph(const std::string& line) {
  return !line.empty() && column_of(line) == 0 && !line.starts_with("Usage: ");
}

bool goes_on(const std::string& first, const std::string& line) {
  const std::size_t column = column_of(first);
  if (column > indent_of(first)) return indent_of(line) == column && !line.empty();
  return is_paragraph(first) && is_paragraph(line);
}

std::string broken(const std::string& line, std::size_t column, std::size_t columns) {
  std::string text = line.substr(0, column);
  std::size_t at = width_of(text);
  const auto begin_line = [&](std::size_t indent) {
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n" + std::string(indent, ' ');
    at = indent;
  };
  const bool is_narrow = column > columns / 2;
  if (is_narrow) begin_line(kDeepIndent);
  const std::size_t indent = at;
  for (const std::string& word : split(std::string_view(line).substr(column), ' ')) {
    const std::size_t width = width_of(word);
    if (at > indent && at + 1 + width > columns) begin_line(indent);
    if (at > indent) text += ' ', ++at;
    text += word;
    at += width;
  }
  return text;
}

}  // namespace

std::string fitted(const std::string& text, std::size_t columns) {
  const std::vector<std::string> lines = split(text, '\n');
  std::vector<std::string> result;
  for (std::size_t i = 0; i < lines.size();) {
    const std::string& first = lines[i];
    std::string whole = first, as_it_is = first;
    bool fits = width_of(first) <= columns;
    for (++i; i < lines.size() && goes_on(first, lines[i]); ++i) {
      whole += " " + lines[i].substr(indent_of(lines[i]));
      as_it_is += "\n" + lines[i];
      fits = fits && width_of(lines[i]) <= columns;
    }
    result.push_back(fits ? as_it_is : broken(whole, column_of(first), columns));
  }
  return joined(result, "\n");
}

std::string for_terminal(const std::string& text) {
  return output_is_terminal() ? fitted(text, static_cast<std::size_t>(output_width())) : text;
}

}  // namespace ronde::apps
