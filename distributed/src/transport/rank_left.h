/// RankLeft: a rank that others still wait for is not there any more, so it cannot report anything either.
#pragma once

#include <string>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class RankLeft final : public CollectiveError {
 public:
  explicit RankLeft(int rank)
      : CollectiveError(cat("[distributed] rank ", rank, " has left; others still wait for it"),
                        ExitStatus::failure, rank) {}
};

}  // namespace ronde::inline v0
