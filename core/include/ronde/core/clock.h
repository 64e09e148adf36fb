/// Clocks, in seconds.
///
///     const double begin = steady_seconds();
///     ...
///     std::printf("took %.1f s\n", steady_seconds() - begin);
///
/// Thread safety: may be called from several threads.
#pragma once

#include <chrono>

namespace ronde::inline v0 {

/// Since 1970, for what files and other machines say. It jumps when somebody sets the clock.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Since a moment that is the same for all of this machine's processes; never goes back.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ronde::inline v0
