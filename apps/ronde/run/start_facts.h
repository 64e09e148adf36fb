/// What is known of one start of a job once it has ended, and whether starting again is worth while.
#pragma once

#include <cstdint>

#include <ronde/distributed/heartbeat.h>

namespace ronde::apps {

struct StartFacts {
  enum class Ranks {
    silent,    ///< told nothing: no program of Ronde's, or on other machines
    others,    ///< came to `init`, and train by a loop of their own, if they do
    trainers,  ///< `train_mnist` and the like
  };
  Ranks ranks = Ranks::silent;
  std::int64_t step = 0;  ///< that any rank came to
  double seconds = 0.0;   ///< that it lasted

  /// Whether there may be something to go on from.
  bool has_made_something() const;
  /// Than starts that came to `best_step`. A trainer that goes on counts its steps from where the one before
  /// it was; others may count anew, or nothing, so there a long start is taken for progress.
  bool got_further_than(std::int64_t best_step) const;
};

/// Of ranks whose slots are `beats`.
StartFacts facts_of(const HeartbeatFile& beats, double seconds);
std::int64_t step_of(const HeartbeatFile& beats);

}  // namespace ronde::apps
