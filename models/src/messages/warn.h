/// What is no reason to stop, but has to be said.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include <ronde/core/text.h>

namespace ronde::inline v0 {

/// FitOptions::warn and its like; may be empty.
using Warn = std::function<void(const std::string& problem)>;

/// Tells `warn`; without one, a line on stderr.
inline void warn_or_print(const Warn& warn, const std::string& problem) {
  if (warn) return warn(problem);
  std::fputs(cat("ronde: warning: ", problem, "\n").c_str(), stderr);
}

}  // namespace ronde::inline v0
