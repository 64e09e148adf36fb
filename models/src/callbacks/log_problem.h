#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include <ronde/core/text.h>

namespace ronde::inline v0 {

using Warn = std::function<void(const std::string& problem)>;

/// A log that cannot be written is no reason to end a training: it is said, by `warn` or else as `fit` says
/// such things.
inline void say_problem(const Warn& warn, const std::string& problem) {
  if (warn) return warn(problem);
  std::fputs(cat("ronde: warning: ", problem, "\n").c_str(), stderr);
}

}  // namespace ronde::inline v0
