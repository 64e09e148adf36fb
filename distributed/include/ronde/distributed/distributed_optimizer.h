/// DistributedOptimizer: any optimizer, with gradients summed over the ranks of a communicator first.
///
///     DistributedOptimizer optimizer(std::make_unique<Adam>(AdamOptions{.learning_rate = 1e-3 * size}),
///     world); optimizer.attach(arena);                     // compares the plans of all ranks, takes rank
///     0's weights arena.zero_gradients(); sum(losses).backward();                      // buckets leave
///     while backward goes on optimizer.step({.samples = batch.size()});   // waits for the sums, divides
///     once, updates
///
/// Averages are exact: gradients are sums over samples, divided once by the number of samples of all ranks,
/// so shards may be unequal or empty (a rank without samples need not run backward at all). All ranks must
/// call `step` equally often. On one rank nothing is communicated.
///
/// The number of samples travels with the gradients, in their dtype: up to 2^24 in a global batch with f32.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/gradient_buckets.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

/// What the gradients in the arena are.
struct StepSamples {
  /// Gradients are the *sum* over this many samples of this rank; 0 is fine.
  std::int64_t samples = 0;
};

class RONDE_API DistributedOptimizer {
 public:
  DistributedOptimizer(std::unique_ptr<Optimizer> optimizer, Communicator& communicator,
                       BucketOptions options = {});
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  /// Collective. Compares names, shapes, dtypes and buckets of all ranks (an error on every rank names the
  /// parameter and the ranks), broadcasts weights and state from rank 0, and hooks the parameters' gradients.
  void attach(ParameterArena& arena);
  /// Collective. Waits for the sums over all ranks, then updates with sum / samples of all ranks. Returns
  /// that number; with 0 nothing is updated.
  std::int64_t step(StepSamples samples);
  /// Collective. The gradients are this rank's *mean* over equally large batches: updates with their average
  /// over ranks.
  void step();

  /// Gradient accumulation: while it lives, backward passes send nothing.
  ///
  ///     { DistributedOptimizer::NoSync hold(optimizer); first_losses.backward(); }
  ///     last_losses.backward();
  ///     optimizer.step({.samples = of_both});
  class RONDE_API NoSync {
   public:
    explicit NoSync(DistributedOptimizer& optimizer);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    GradientBuckets* buckets_;
    bool before_ = true;
  };

  Optimizer& optimizer() { return *optimizer_; }
  Communicator& communicator() { return *communicator_; }

 private:
  double reduce(std::int64_t samples);

  std::unique_ptr<Optimizer> optimizer_;
  Communicator* communicator_;
  BucketOptions options_;
  std::unique_ptr<GradientBuckets> buckets_;  // nullptr on one rank
};

/// Everybody gets root's weights and moving statistics. Collective.
RONDE_API void broadcast_parameters(ParameterArena& arena, Communicator& communicator, int root = 0);
/// Everybody gets root's optimizer state, step count and learning rate. Collective.
RONDE_API void broadcast_optimizer_state(Optimizer& optimizer, Communicator& communicator, int root = 0);

}  // namespace ronde::inline v0
