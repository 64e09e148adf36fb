/// RankWatch: looks after the ranks of a training: whether they go together, and whether all keep pace.
///
///     RankWatch watch(communicator, [](const std::string& problem) { ... });
///     watch.begin({.deterministic = true});            // an error on all ranks, or warnings
///     for (...) { ...; watch.add_step(seconds); }      // a warning when one rank is slower, step after step
///
/// Warnings are told on all ranks alike. On one rank nothing is communicated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/distributed/rank_facts.h>

#include "messages/warn.h"
#include "training/straggler.h"

namespace ronde::inline v0 {

class RankWatch {
 public:
  struct Wishes {
    bool deterministic = false;
    DType computed = DType::f32;
    bool warn_of_crowding = true;
    std::int64_t global_batch = 0;
  };

  RankWatch(Communicator& communicator, Warn warn) : communicator_(communicator), warn_(std::move(warn)) {}

  /// Compares what the ranks run on. CollectiveError when they cannot train together. Collective.
  void begin(Wishes wishes);
  /// After each step; `seconds` until this rank's own gradients were there. Every 32nd call is collective.
  void add_step(double seconds);

 private:
  void compare_windows();

  Communicator& communicator_;
  Warn warn_;
  std::vector<RankFacts> ranks_;
  bool compares_speed_ = false;
  std::int64_t steps_ = 0;
  std::vector<double> window_;
  StragglerDetector detector_;
};

/// Shares of a batch differ by a sample at most: whether that is so little that times may be compared.
bool have_like_shares(std::int64_t global_batch, std::int64_t ranks);

/// "rank 2 on node1 takes 1.8 times as long as the others ..."
std::string describe(const Straggler& straggler, const std::vector<RankFacts>& ranks);

}  // namespace ronde::inline v0
