/// UTF-8: which bytes of a text are characters. Names of files may hold any bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Length of the UTF-8 character at the front of `text`, 1 to 4; 0 when there is none.
RONDE_API std::size_t utf8_length(std::string_view text);

}  // namespace ronde::inline v0
