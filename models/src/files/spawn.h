/// Spawn: how a process is started that must not harm this one.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace ronde::inline v0 {

/// It has default signals, none of them blocked, and of this process's files what is named, or /dev/null.
class Spawn {
 public:
  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  /// Its file `number`, below 3, is this process's `fd`.
  Spawn& give(int number, int fd);
  /// mpirun sends the ranks' signals to their process group; one of its own gets none.
  Spawn& own_group();
  /// 0, or the errno of what failed. A program without a slash is looked for in $PATH.
  int start(const std::vector<std::string>& words, pid_t& child);

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  short flags_ = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  bool is_given_[3] = {};
};

}  // namespace ronde::inline v0
