/// Signals, and the threads that the library starts beside those of the application.
#pragma once

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// From now on the application's handlers do not run on the calling thread: signals that are sent to the
/// process go to its other threads. Not those that tell of an error in this thread (SEGV, BUS, FPE, ILL,
/// TRAP, SYS, ABRT), which handlers of crashes wait for, nor SIGPROF, by which profilers look at each thread.
RONDE_API void block_signals();

}  // namespace ronde::inline v0
