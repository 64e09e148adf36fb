#include "files/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): no header of the C++ library has it

namespace ronde::inline v0 {

Spawn::Spawn() {
  posix_spawnattr_init(&attributes_);
  posix_spawn_file_actions_init(&actions_);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setsigdefault(&attributes_, &all);
}

Spawn::~Spawn() {
  posix_spawnattr_destroy(&attributes_);
  posix_spawn_file_actions_destroy(&actions_);
}

Spawn& Spawn::give(int number, int fd) {
  posix_spawn_file_actions_adddup2(&actions_, fd, number);
  is_given_[number] = true;
  return *this;
}

Spawn& Spawn::own_group() {
  posix_spawnattr_setpgroup(&attributes_, 0);
  flags_ |= POSIX_SPAWN_SETPGROUP;
  return *this;
}

int Spawn::start(const std::vector<std::string>& words, pid_t& child) {
  posix_spawnattr_setflags(&attributes_, flags_);
  for (int number = 0; number < 3; ++number)
    if (!is_given_[number])
      posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
  // Whoever holds a rank's sockets keeps the others from seeing that it has died.
  posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return ::posix_spawnp(&child, arguments[0], &actions_, &attributes_, arguments.data(), environ);
}

}  // namespace ronde::inline v0
