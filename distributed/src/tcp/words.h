/// Small things that several files of this folder do with text.
#pragma once

#include <string>
#include <string_view>

namespace ronde::inline v0 {

/// What follows `prefix`; empty: `text` does not begin with it.
std::string after(const std::string& prefix, const std::string& text);
/// Two lower-case digits for each byte.
std::string hex_digits(std::string_view bytes);
/// Empty for a file that is not there.
std::string first_line(const std::string& path);

}  // namespace ronde::inline v0
