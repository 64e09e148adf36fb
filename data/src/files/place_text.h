#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>

#include <ronde/core/text.h>

namespace ronde::inline v0 {

/// A directory where nothing was found; where it may not be searched, that is said.
inline std::string place_text(const std::string& place) {
  const bool is_closed = ::access(cat(place, "/.").c_str(), F_OK) != 0 && errno == EACCES;
  return is_closed ? cat(place, " (Permission denied)") : place;
}

}  // namespace ronde::inline v0
