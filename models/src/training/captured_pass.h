/// CapturedPass: training steps of whole batches on a GPU, repeated as one graph.
///
/// The first batch says which one the main batch is: its tensors and size. Others, as the smaller last one of
/// an epoch, run as they are. Where the host needs nothing from the device before an update is made, the
/// graph is the whole step: forward, backward, the sums over the ranks, loss, metrics and the optimizer. So
/// is a guard's decision, where no other rank has a say: Note [Calls of an update]. Else it is forward and
/// backward, and the rest follows, kernel by kernel. Only for nets and losses that compute the same each
/// time: Ronde's own, and those that say so (Module::is_repeatable). Where a layer is frozen or unfrozen on
/// the way there is another graph from then on. Whether there is one the ranks decide together, once. See
/// RepeatedStep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ronde/core/cuda.h>

#include "training/non_finite_guard.h"
#include "training/train_step.h"

namespace ronde::inline v0 {

class CapturedPass {
 public:
  /// `guard`: of the updates; nullptr: none.
  CapturedPass(Model::State& model, NonFiniteGuard* guard);

  /// Whether this batch, whose gradients start from zero, is one that is repeated. The same on all ranks:
  /// NCCL wants a sum in the graphs of all or of none. They are asked with the first such batch whether all
  /// may capture, which is collective.
  bool takes(const StepData& data);
  /// Whether it may be the whole step, the update included, where the batch is the only one of its update.
  bool takes_update() const;
  /// Forward and backward.
  void run(const StepData& data, RunningTotals& totals);
  /// The whole step, behind the guard's begin_update_on_device; returns the samples of all ranks.
  std::int64_t run_with_update(const StepData& data, const StepSamples& samples, RunningTotals& totals);
  /// Why steps are not repeated as a graph; told once, else empty.
  std::string take_fallback();

 private:
  /// Of the first batch that may be the main one, on all ranks: whether all may capture.
  bool agree_on_graphs();
  /// A graph knows which weights it has gradients for.
  std::vector<bool> trainable() const;
  /// Forgets the graphs, if there are any: the next steps make others.
  void begin_anew();
  /// What a repeated body leaves behind, of its latest run. Each of the two has its own: a repetition calls
  /// nobody who could say where it lies.
  struct Results {
    Tensor outputs, loss, weights;
  };
  void forward_and_backward(Results& results);
  void begin_pass_anew(const StepSamples& samples);
  std::int64_t count_and_update(const StepData& data, const StepSamples& samples, RunningTotals& totals);

  Model::State& model_;
  NonFiniteGuard* guard_;
  std::optional<RepeatedStep> pass_;  // empty: nothing is captured
  std::optional<RepeatedStep> step_;
  Tensor inputs_, targets_, keys_;  // of the main batch
  Results of_pass_, of_step_;
  Tensor seed_;                     // the gradient of the loss: 1, which no step has to write
  std::int64_t global_count_ = 0;   // samples of all ranks in the main batch
  std::vector<const Module*> modules_;  // of the net, all
  std::vector<bool> trainable_;         // which modules and weights are, for these graphs
  std::string obstacle_;                // why there are no graphs at all
  bool steps_on_device_ = false;    // the optimizer
  bool told_ = false;
};

}  // namespace ronde::inline v0
