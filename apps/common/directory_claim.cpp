#include "common/directory_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace ronde::apps {

DirectoryClaim::DirectoryClaim(const std::string& directory) {
  if (directory.empty()) return;
  directory_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Any other failure, as of a file system without locks, says nothing about other jobs.
  is_shared_ = directory_ >= 0 && ::flock(directory_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

DirectoryClaim::~DirectoryClaim() {
  if (directory_ >= 0) ::close(directory_);
}

}  // namespace ronde::apps
