/// What a person who mistyped a word probably meant.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// The one of `words` with the fewest letters to insert, delete or replace; empty when it would take more
/// than three, or more than half of the word.
RONDE_API std::string nearest_word(const std::string& given, const std::vector<std::string>& words);

}  // namespace ronde::inline v0
