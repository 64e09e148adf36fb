#include "transport/ranks_text.h"

#include <ronde/core/text.h>

namespace ronde::inline v0 {

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 2) last = i;  // two are shorter one by one
    text += cat(i == 0 ? "" : ", ", ranks[i], last == i ? "" : cat('-', ranks[last]));
    i = last + 1;
  }
  return text;
}

}  // namespace ronde::inline v0
