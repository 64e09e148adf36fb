#include "common/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace ronde::apps {

bool flush_standard_output() {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived || ::fcntl(STDOUT_FILENO, F_GETFD) < 0) return true;
  std::fputs("ronde: the standard output could not be written to its end: is the disk full?\n", stderr);
  return false;
}

}  // namespace ronde::apps
