/// Endings of files' names.
#pragma once

#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Whether a path ends in `ending` (".csv", in small letters), whatever the case of its letters from a to z.
RONDE_API bool has_ending(std::string_view path, std::string_view ending);

}  // namespace ronde::inline v0
