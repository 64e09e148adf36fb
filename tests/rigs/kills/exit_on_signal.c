// Preloaded into the ranks: on SIGXCPU a process calls exit(3) in the middle of whatever it does.
#include <signal.h>
#include <unistd.h>

static void leave(int number) {
  (void)number;
  _exit(3);
}

__attribute__((constructor)) static void prepare(void) {
  signal(SIGXCPU, leave);
}
