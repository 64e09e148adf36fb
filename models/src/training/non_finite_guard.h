/// NonFiniteGuard: keeps NaN and infinity out of the weights, for one `fit`. See non_finite.h.
///
/// Note [Calls of an update]: who calls what, from top to bottom. Where the host would wait for a GPU only to
/// ask, the device decides: on one rank, when a graph is the whole step (CapturedPass::takes_update).
///
///                  the host decides             the device decides         it does, and is heard late
///     first batch  begin_update                 begin_update_on_device     begin_update_on_device
///     gradients    TrainStep::add or            CapturedPass::             the same
///                  ShardedStep::add             run_with_update; in it:
///     decision     update of the same; the      look, GatedUpdates over    the same
///                  gate it asks: may_update     totals and optimizer;
///                                               the gate says yes
///     its answer   at once                      end_update_on_device       end_update_on_device of the next
///                                                                          update, or settle
///     if refused   Trainer::update:             undo, Trainer::update:     undo, Trainer::recover_late:
///                  recover, give_back           recover, give_back         back to its batch, recover,
///                                                                          give_back
///
/// TrainStep::add begins an update here, Trainer::train_on that of a ShardedStep. `undo` takes back what the
/// host has counted where the device changed nothing: optimizer steps, samples. give_back is for the rest:
/// moving statistics and, where the host decides, the totals.
///
/// Late is for `abort`, where nothing can come of a refusal but the end of the training: the device is never
/// without work, and what it was given behind a refused update changes nothing either, as its verdict stays
/// NaN. Between steps one answer at most is out (LateReader::kMost is 2), so recover_late goes back one step.
/// settle waits for it: before an update that the host decides, logs of a batch, the end of an epoch, and a
/// save.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include <ronde/core/cuda.h>

#include "state/model_state.h"
#include "training/running_totals.h"

namespace ronde::inline v0 {

class NonFiniteGuard {
 public:
  /// `end`: ends the training when a refusal is heard late, as Trainer::recover_late. Empty: none is.
  NonFiniteGuard(Model::State& model, NonFiniteOptions options, std::function<void()> end = {});
  ~NonFiniteGuard();
  NonFiniteGuard(const NonFiniteGuard&) = delete;
  NonFiniteGuard& operator=(const NonFiniteGuard&) = delete;

  bool is_on() const { return options_.action != NonFiniteAction::finish_epoch; }

  /// Remembers what a refused update has to give back.
  void begin_update(const RunningTotals& totals);
  /// Whether the device may decide: there is a GPU, and no rank to agree with.
  bool may_be_on_device() const;
  /// Instead of begin_update; waits for nothing.
  void begin_update_on_device();
  /// Enqueues what the device decides by, from the gradients and this loss; the same tensor each time.
  const Tensor& look(const Tensor& loss);
  /// Hears what it has decided, of this update or late of the one before; calls the `undo` of one refused.
  void end_update_on_device(std::function<void()> undo);
  /// Waits for what it has decided of all updates so far.
  void settle();
  /// For updates that DistributedOptimizer does not make; none when nothing is looked for.
  DistributedOptimizer::Gate gate();
  /// Collective where the ranks do not see the same sums.
  bool may_update(double witness);
  /// Whether the last update was.
  bool refused() const { return refused_; }
  /// Whether this rank has decided that by itself, and the others do not know. Local steps are there to save
  /// meetings of the ranks, and a rank that ends needs none: the others hear of it.
  bool decides_alone() const;
  /// Loss, metrics and moving statistics as they were before the update.
  void give_back(RunningTotals& totals);

 private:
  /// An update whose decision is not known yet.
  struct Undecided {
    std::function<void()> undo;
    const Tensor* statistics;
  };

  void note_statistics();
  bool hears_late() const;
  void hear();
  void enqueue_squares();
  bool gradients_are_finite();

  Model::State& model_;
  NonFiniteOptions options_;
  bool refused_ = false;
  bool is_on_device_ = false;  // this update's decision
  std::function<void()> end_;
  Tensor squares_;                      // f64 scalar
  Tensor verdict_;                      // f64 scalar: nothing, or NaN from a refused update on
  std::array<Tensor, 2> copies_;        // of the arena's buffers, in turn; undefined where there are none
  const Tensor* statistics_ = nullptr;  // the one that the last update has to give back
  std::optional<LateReader> late_;
  std::deque<Undecided> undecided_;
  RunningTotals::Mark mark_;
};

/// What an update sends along for its gate: 0, or NaN when this rank's losses are not finite.
double loss_witness(double loss_sum);

}  // namespace ronde::inline v0
