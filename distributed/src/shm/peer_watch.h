/// PeerWatch: notices that another process has died.
#pragma once

#include <vector>

namespace ronde::inline v0 {

class PeerWatch {
 public:
  /// Process numbers by rank, in this process' name space; its own number is not watched.
  explicit PeerWatch(const std::vector<int>& processes);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// The lowest rank whose process has ended; -1: none.
  int find_dead() const;

 private:
  // A process, held by a file that outlasts its number; -1: by the number alone, where the kernel is older.
  struct Peer {
    int process, file;
  };
  std::vector<Peer> peers_;  // by rank
};

}  // namespace ronde::inline v0
