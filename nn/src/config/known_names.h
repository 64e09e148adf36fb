/// What to say of a name that a factory does not know.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/nearest_word.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {

/// `loss "hube" is not supported, did you mean huber? Known are ...`. `listed` are shown, and `others` may be
/// meant too: further names of the same things.
inline std::string unknown_name(const std::string& kind, const std::string& given,
                                const std::vector<std::string>& listed,
                                const std::vector<std::string>& others = {}) {
  std::vector<std::string> all = listed;
  all.insert(all.end(), others.begin(), others.end());
  const std::string meant = nearest_word(given, all);
  return cat(kind, " \"", given, "\" is not supported",
             meant.empty() ? "; known are " : cat(", did you mean ", meant, "? Known are "), joined(listed));
}

}  // namespace ronde::inline v0
