/// How the ranks of a job find each other. Rank 0 listens; the others tell it who they are and get a token
/// and everybody's address.
#pragma once

#include <string>
#include <vector>

#include <ronde/distributed/tcp_communicator.h>

#include "tcp/greeting.h"
#include "tcp/socket.h"

namespace ronde::inline v0 {

struct Gathering {
  Socket listener;  // of this rank, for the others
  RankTable table;
};

/// Collective.
Gathering gather_ranks(const TcpOptions& options);

/// This rank's connections to all others, the closed socket for itself. Collective.
std::vector<Socket> connect_all(const Gathering& gathering, int rank, const Deadline& deadline);

std::string random_token();

}  // namespace ronde::inline v0
