/// DirectoryClaim: whether another job writes into the same directory.
#pragma once

#include <string>

namespace ronde::apps {

/// Held as long as this object lives, by one process of a job: for others to see, not to keep them away. Known
/// to the processes of one machine, and on shared file systems that have locks to those of others.
class DirectoryClaim {
 public:
  /// Empty: of nothing.
  explicit DirectoryClaim(const std::string& directory);
  ~DirectoryClaim();
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

  /// Somebody else was first.
  bool is_shared() const { return is_shared_; }

 private:
  int directory_ = -1;
  bool is_shared_ = false;
};

}  // namespace ronde::apps
