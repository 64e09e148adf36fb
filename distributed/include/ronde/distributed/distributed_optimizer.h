/// DistributedOptimizer: any optimizer, with gradients summed over the ranks of a communicator first.
///
///     DistributedOptimizer optimizer(std::make_unique<Adam>(), world);
///     optimizer.attach(arena);                    // compares all ranks' plans, takes rank 0's weights
///     arena.zero_gradients();
///     sum(losses).backward();                     // buckets leave while backward goes on
///     optimizer.step({.samples = batch.size()});  // waits for the sums, divides once, updates
///
/// Averages are exact: gradients are sums over samples, divided once by the number of samples of all ranks,
/// so shards may be unequal or empty (a rank without samples need not run backward at all). All ranks must
/// call `step` equally often. A loop that catches an exception of the forward pass, of the backward pass or
/// of `step` goes on with `zero_gradients` on all ranks: a rank that did not see the exception gets an error
/// of its own, from `step` at the latest. No sum has terms of two passes: a rank that zeroes its gradients
/// again before a step has broken a pass off. (Where all ranks do so, they wait for each other once more.) So
/// zero them before what may fail on one rank alone, as reading a batch. A rank that fails before its first
/// gradient has arrived, in a net without synchronized layers, may save the others' step with
/// `step({.samples = 0})`. On one rank nothing is communicated. DistributedOptions trades exactness for
/// bytes, or memory for bytes.
///
/// The number of samples travels with the gradients, in their dtype: up to 2^24 in a global batch with f32.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/distributed_options.h>
#include <ronde/distributed/gradient_buckets.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

class ShardedExchange;

/// What the gradients in the arena are.
struct StepSamples {
  /// Gradients are the *sum* over this many samples of this rank; 0 is fine.
  std::int64_t samples = 0;
  /// Of all ranks together, where that is known beforehand; 0: not.
  std::int64_t of_all_ranks = 0;
  /// Travels with the gradients, for the gate: where it is not finite on one rank, the sum is not on any.
  double witness = 0.0;
};

/// Of this rank, since `attach`.
struct ExchangeStatistics {
  std::int64_t steps = 0;
  std::int64_t bytes_sent = 0;        ///< for gradients and weights
  std::int64_t plain_bytes_sent = 0;  ///< what plain sums of all gradients would have come to
};

class RONDE_API DistributedOptimizer {
 public:
  /// The communicator must outlive it.
  DistributedOptimizer(std::unique_ptr<Optimizer> optimizer, Communicator& communicator,
                       DistributedOptions options = {});
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  /// Collective. Compares names, shapes, dtypes, buckets and options of all ranks (an error on every rank
  /// names the parameter and the ranks), broadcasts weights and state from rank 0, and hooks the parameters'
  /// gradients.
  void attach(ParameterArena& arena);
  /// Before the backward pass, for what needs to know then: Adasum's buckets leave only in `step` otherwise,
  /// and error feedback takes this step to have as many samples as the one before. A pass that was broken off
  /// is begun anew, as by `zero_gradients`.
  void expect(StepSamples samples);
  /// What the ranks have begun to exchange since the last step was not done, on any of them, and they all
  /// know it: a capture that was given up.
  void abandon_pass();
  /// Collective. Waits for the sums over all ranks, then updates with sum / samples of all ranks. Returns
  /// that number; with 0 nothing is updated. A local step returns what `expect` said, or this rank's samples
  /// times the ranks.
  std::int64_t step(StepSamples samples);
  /// Collective. The gradients are this rank's *mean* over equally large batches: updates with their average
  /// over ranks.
  void step();
  /// Collective. After local steps, all ranks get the same weights and the same optimizer state: averages
  /// over the samples that each has seen since. Otherwise nothing.
  void synchronize();

  /// Collective. `Optimizer::swap_average` on all ranks, after `synchronize`: where the average is sharded,
  /// each sends its part of the weights.
  void swap_average();

  /// Asked with the sum of the ranks' witnesses when the gradients are summed and the weights have not
  /// changed yet: false leaves weights and state as they are, and forgets what compression has left over. All
  /// ranks must answer alike, which is theirs to see to where `gradients_agree` is false.
  using Gate = std::function<bool(double witness)>;
  void set_gate(Gate gate) { gate_ = std::move(gate); }
  bool has_gate() const { return static_cast<bool>(gate_); }
  /// Whether the sums of the step that is being made are the same bits on all ranks, so that all see the
  /// same.
  bool gradients_agree() const;
  /// Whether now, between steps, all ranks have the same weights, or the same whole state.
  bool weights_agree() const;
  bool state_agrees() const { return !sharded_ && local_updates_ == 0; }

  /// Gradient accumulation: while one lives, backward passes send nothing; `step` does.
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
  };

  /// The optimizer's whole state on rank 0, wherever it is kept; elsewhere its values may be undefined.
  /// Collective.
  std::vector<OptimizerSlot> gather_slots();
  /// Buffers for the whole state: its own, unless it is sharded.
  std::vector<OptimizerSlot> whole_slots() const;
  /// Everybody gets rank 0's counters and learning rate and, unless `slots` is empty there, its state, of
  /// which these are the whole. Forgets what compression has left over. Collective.
  void broadcast_state(const std::vector<OptimizerSlot>& slots);
  /// Whether what compression has left over is not that of the updates made so far, as after loading.
  bool has_lost_memory() const;

  /// Whether `set_buckets` may be called: several ranks, plain sums, and a state that each rank has whole.
  bool may_set_buckets() const;
  /// Between steps, on all ranks alike: cuts the gradients into other buckets. The same sums, but for how MPI
  /// rounds them.
  void set_buckets(BucketOptions buckets);

  ExchangeStatistics statistics() const;
  const DistributedOptions& options() const { return options_; }
  Optimizer& optimizer() { return *optimizer_; }
  Communicator& communicator() { return *communicator_; }

 private:
  struct StepSums {
    double samples = 0.0;
    double witness = 0.0;
  };
  void make_state(ParameterArena& arena);
  void prepare_step();
  Tensor shared_like(const Tensor& own) const;
  bool is_local_step() const;
  /// Sums the gradients, the number of samples and the witness over all ranks.
  StepSums reduce(StepSums own);
  /// Asks the gate.
  bool may_update(double witness);
  void update(double scale);
  void gather_weights();
  void count_step();
  /// `samples` weighs this rank when weights are averaged; 0: no update here.
  void step_alone(StepSums own, double scale);
  /// Over the samples that each rank has seen since the last time.
  void average_weights();

  std::unique_ptr<Optimizer> optimizer_;
  Communicator* communicator_;
  DistributedOptions options_;
  std::shared_ptr<GradientExchange> exchange_;  // nullptr on one rank, as are these
  std::shared_ptr<ShardedExchange> sharded_;    // the same object, if the state is sharded
  std::unique_ptr<GradientBuckets> buckets_;
  StepSamples expected_;
  Gate gate_;
  std::int64_t local_updates_ = 0;  // since weights and state were averaged
  bool weights_differ_ = false;     // there were some since the weights were
  double local_samples_ = 0.0;      // since the weights were
  std::int64_t steps_ = 0;
  std::int64_t memory_steps_ = 0;  // updates that went into what compression has left over
  std::atomic<std::int64_t> average_bytes_ = 0;
  std::int64_t bytes_before_ = 0;  // that exchanges with other buckets sent
};

/// Everybody gets root's weights and moving statistics. Ranks whose nets are not the same get an error that
/// names the first parameter that differs. Collective.
RONDE_API void broadcast_parameters(ParameterArena& arena, Communicator& communicator, int root = 0);
/// Moving statistics, as of batch normalisation, are each rank's own while it trains; everybody gets their
/// averages: before an evaluation or a file. Otherwise nothing. Collective.
RONDE_API void average_buffers(ParameterArena& arena, Communicator& communicator);
/// Everybody gets root's optimizer state, counters and learning rate. Collective. For an optimizer that is
/// whole on each rank.
RONDE_API void broadcast_optimizer_state(Optimizer& optimizer, Communicator& communicator, int root = 0);

}  // namespace ronde::inline v0
