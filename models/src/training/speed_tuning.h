/// SpeedTuning: looks in the first updates of a training for sizes of gradient buckets and a number of
/// threads that make it faster than the defaults do.
///
///     SpeedTuning tuning(state, options);
///     for (...) { ...; tuning.add_step(seconds, has_updated); }     // of whole batches
///     tuning.description();                                          // "1 thread, buckets of 4 MB"
///
/// First the buckets, then the threads. All ranks decide alike, by the slowest one's times. What one `fit`
/// has found, later ones of this optimizer use. It belongs to one thread, whose loops it limits as long as it
/// lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/core/thread_pool.h>
#include <ronde/distributed/distributed_options.h>

#include "state/model_state.h"
#include "training/autotuner.h"

namespace ronde::inline v0 {

class SpeedTuning {
 public:
  /// Collective.
  SpeedTuning(Model::State& state, const FitOptions& options);
  /// Of this rank. Collective now and then, until it is done.
  void add_step(double seconds, bool has_updated);
  bool is_done() const { return stages_.empty(); }
  /// The training ends: back to the default, unless it is done.
  void finish();
  /// What is used from now on.
  std::string description() const;

 private:
  /// Things to choose between; the default first.
  struct Stage {
    int ways = 0;
    std::function<void(int way)> use;
    Autotuner tuner{ways};
  };
  void add_bucket_stage();
  void add_thread_stage();
  void use_threads(int threads);
  void end_block();

  Model::State& state_;
  bool has_buckets_;
  std::vector<Stage> stages_;  // the first one is under way
  double update_seconds_ = 0.0;
  std::vector<double> block_;  // updates in this way
  int threads_;
  std::unique_ptr<FewerThreads> limit_;
};

}  // namespace ronde::inline v0
