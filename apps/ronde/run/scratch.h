/// Scratch: directories for what one start of mpirun keeps in files, removed when this is.
///
/// An mpirun that is killed removes nothing: each time some 8 MB of its ranks' facts stay in /tmp, and of
/// shared memory in /dev/shm, of which a container has 64 MB. So the supervisor says where they go. A
/// supervisor that is killed itself leaves them to the next one: who uses a directory holds a lock on it.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace ronde::apps {

class Scratch {
 public:
  /// Makes them, where there is room; without them mpirun uses its own.
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// What mpirun has to be told, as variables of Open MPI.
  const std::map<std::string, std::string>& settings() const { return settings_; }

 private:
  struct Directory {
    std::string path;
    int lock;  // a file descriptor
  };
  void add(const std::string& parent, std::initializer_list<const char*> variables);

  std::vector<Directory> directories_;
  std::map<std::string, std::string> settings_;
};

}  // namespace ronde::apps
