/// Where data sets are kept.
#pragma once

#include <string>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// `$RONDE_DATA`, else `$XDG_CACHE_HOME/ronde`, else `$HOME/.cache/ronde`. It may not exist.
RONDE_API std::string default_data_directory();

}  // namespace ronde::inline v0
