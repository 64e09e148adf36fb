#include <ronde/core/nearest_word.h>

#include <algorithm>
#include <cstddef>

namespace ronde::inline v0 {

namespace {

// Levenshtein's distance, one row at a time.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(const std::string& given, const std::vector<std::string>& words) {
  std::string nearest;
  std::size_t best = std::min<std::size_t>(4, given.size() / 2 + 1);  // farther words are not meant
  for (const std::string& word : words) {
    const std::size_t d = distance(given, word);
    if (d < best) {
      best = d;
      nearest = word;
    }
  }
  return nearest;
}

}  // namespace ronde::inline v0
