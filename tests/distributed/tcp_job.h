/// What tests of ranks that are joined by TCP share: a job of them, and machines that are gone.
#pragma once

#include <string>

#include <linux/filter.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <ronde/distributed/tcp_communicator.h>

#include "support/message_of.h"
#include "support/temp_dir.h"
#include "tcp/rendezvous.h"

namespace ronde::test {

// Ranks meet at a file in a directory of this object's.
class Job {
 public:
  explicit Job(int size, double patience = 30.0) : size_(size), patience_(patience) {}

  TcpOptions options(int rank) const {
    return {.rank = rank,
            .size = size_,
            .rendezvous = cat("file:", file()),
            .patience = patience_,
            .path = AllreducePath::mpi};
  }
  std::string file() const { return directory_ / "meeting"; }
  std::unique_ptr<Communicator> join(int rank) const { return make_tcp_communicator(options(rank)); }

 private:
  ronde::test::TempDir directory_;
  int size_;
  double patience_;
};

using ronde::test::message_of;

// As if the machine at the other end were gone: nothing that comes to `socket` is answered any more.
inline void drop_what_comes(const Socket& socket) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog filter{1, &nothing};
  ASSERT_EQ(setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
}

}  // namespace ronde::test
