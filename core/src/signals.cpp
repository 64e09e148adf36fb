#include <ronde/core/signals.h>

#include <initializer_list>

#include <pthread.h>
#include <signal.h>

namespace ronde::inline v0 {

void block_signals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int kept : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
    sigdelset(&signals, kept);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace ronde::inline v0
