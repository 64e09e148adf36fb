/// Small things that several files of this folder do with text.
#pragma once

#include <string>

namespace ronde::inline v0 {

/// What follows `prefix`; empty: `text` does not begin with it.
std::string after(const std::string& prefix, const std::string& text);
/// Empty for a file that is not there.
std::string first_line(const std::string& path);

}  // namespace ronde::inline v0
