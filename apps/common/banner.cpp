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

}  // namespace ronde::apps
