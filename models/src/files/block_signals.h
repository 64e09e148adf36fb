/// For threads of the library's own: signals are for those of the application.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace ronde::inline v0 {

/// Handlers do not run on the calling thread from now on.
inline void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace ronde::inline v0
