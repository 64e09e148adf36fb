/// RankLeft: a rank that others still wait for is not there any more, so it cannot report anything either.
#pragma once

#include <string>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class RankLeft final : public CollectiveError {
 public:
  explicit RankLeft(int rank) : RankLeft(rank, rank) {}
  RankLeft(int rank, int world_rank)
      : CollectiveError(cat("[distributed] rank ", world_rank, " has left; others still wait for it"),
                        ExitStatus::failure, rank, world_rank) {}
};

/// As this rank alone sees it, because a process has died or a connection has ended.
class RankGone final : public Error {
 public:
  using Error::Error;
};

}  // namespace ronde::inline v0
