#include "common/banner.h"

#include <algorithm>

#include <ronde/core/text.h>

namespace ronde::apps {

std::string banner(const std::string& title, const BannerLines& lines) {
  std::size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, name.size());
  std::string text = title + "\n";
  for (const auto& [name, value] : lines)
    text += "  " + name + std::string(width - name.size() + 2, ' ') + value + "\n";
  return text;
}

std::string grouped(long long number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits.starts_with("-") ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string counted(long long count, const std::string& thing) {
  return cat(grouped(count), ' ', thing, count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += cat(text.empty() ? "" : separator, word);
  return text;
}

}  // namespace ronde::apps
