/// Mesh: a rank's connections with all others, and the one thing that is done with them: sending to and
/// receiving from any of them at the same time, asleep while nothing moves.
///
/// Note [Leaving]: a process that ends closes its connections, and every rank looks at all of them while it
/// waits, so all learn of it at once. A rank that leaves in order says goodbye first, and how many meetings
/// it has been to: one who leaves after the meeting in which another one still waits has done its part. Of a
/// machine that is gone nothing comes: there the system notices, asking now and then, while nothing is on its
/// way, and `look_for_lost` otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "tcp/socket.h"

namespace ronde::inline v0 {

class Mesh {
 public:
  struct Outgoing {
    int rank;
    const void* data;
    std::int64_t bytes;
  };
  struct Incoming {
    int rank;
    void* data;
    std::int64_t bytes;
  };

  /// links[r] leads to rank r; that of `rank` itself is closed.
  Mesh(int rank, std::vector<Socket> links);
  ~Mesh();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  /// Throws when a rank has gone. At most one of each kind per rank.
  void exchange(std::vector<Outgoing> outs, std::vector<Incoming> ins);
  /// Another meeting begins.
  void count_meeting() { ++meetings_; }
  std::int64_t meetings() const { return meetings_; }

 private:
  struct Peer {
    Socket link;
    std::vector<char> ahead;  // received, but not asked for yet
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  bool send_some(Outgoing& out);
  bool receive_some(Incoming& in);
  void sleep(const std::vector<Outgoing>& outs, const std::vector<Incoming>& ins);
  void read_to_the_end(int rank);
  void look_for_lost();
  [[noreturn]] void throw_gone(int rank);

  int rank_;
  std::vector<Peer> peers_;
  std::int64_t meetings_ = 0;
  bool is_broken_ = false;
};

}  // namespace ronde::inline v0
