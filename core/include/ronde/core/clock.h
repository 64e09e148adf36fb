/// Clocks, in seconds.
///
///     const double begin = steady_seconds();
///     ...
///     const double took = steady_seconds() - begin;
///
/// Thread safety: may be called from several threads.
#pragma once

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Since 1970, for what files and other machines say. It jumps when somebody sets the clock.
RONDE_API double unix_seconds();

/// Since a moment that is the same for all of this machine's processes; never goes back.
RONDE_API double steady_seconds();

}  // namespace ronde::inline v0
