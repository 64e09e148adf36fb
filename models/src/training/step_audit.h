/// StepAudit: whether this machine computes the same bits when it computes a step again.
///
///     audit.begin(step, 0);
///     audit.run(totals, [&] { forward and backward });   // twice, when the step is one to audit
///     audit.agree();                                      // before the update
///
/// Every so many steps each rank repeats the forward and backward pass of its part, from the same weights,
/// samples and moving statistics, and compares every gradient, the moving statistics, the loss and the
/// metrics with those that the update is about to use. Kernels make the same bits of the same operands, so a
/// difference is the machine's: memory, or a core that computes wrongly now and then. What comes behind, the
/// sum over the ranks and the update, is ReplicaCheck's.
///
/// An audited step computes twice, and its gradients travel only when both passes are done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "state/model_state.h"
#include "training/running_totals.h"

namespace ronde::inline v0 {

class StepAudit {
 public:
  /// `every` steps; 0: never.
  StepAudit(Model::State& model, std::int64_t every) : model_(model), every_(every) {}

  /// `batches`: that the update has already. Only its first can be audited, which begins with no gradients.
  void begin(std::int64_t step, std::int64_t batches);
  /// Whether this step is audited.
  bool is_due() const { return is_due_; }
  /// Calls `compute`, which fills the arena's gradients from zero and adds to `totals`: once, or twice with
  /// the same start and one result.
  void run(RunningTotals& totals, const std::function<void()>& compute);
  /// Collective. A CollectiveError with the status replicas_differ, naming the rank and the parameter, when
  /// one of them has found a difference.
  void agree();

 private:
  std::string compare(const Tensor& gradients, const Tensor& statistics) const;

  Model::State& model_;
  std::int64_t every_;
  std::int64_t audited_ = -1;  // or passed over: the step that the interval is counted from
  std::int64_t step_ = 0;
  bool is_due_ = false;
  std::string found_;  // on this rank, the first; empty: nothing
};

}  // namespace ronde::inline v0
