/// CapturedPass: forward and backward of whole batches on a GPU, repeated as one graph.
///
/// The first batch says which one the main batch is: its tensors and size. Others, as the smaller last one of
/// an epoch, run as they are. Loss and metrics are added up behind the graph, so that the host's part of them
/// runs each time. Only on one rank, and for nets whose layers keep nothing on the host from step to step
/// (Ronde's own do not). See RepeatedStep.
#pragma once

#include <optional>
#include <string>

#include <ronde/core/cuda.h>

#include "training/train_step.h"

namespace ronde::inline v0 {

class CapturedPass {
 public:
  explicit CapturedPass(Model::State& model);

  /// Whether this batch, whose gradients start from zero, is one that `run` may have.
  bool takes(const StepData& data);
  void run(const StepData& data, RunningTotals& totals);
  /// Why steps are not repeated as a graph; told once, else empty.
  std::string take_fallback();

 private:
  Model::State& model_;
  std::optional<RepeatedStep> step_;  // empty: nothing is captured
  Tensor inputs_, targets_, keys_;    // of the main batch
  Tensor outputs_, loss_;             // of the latest run
  bool told_ = false;
};

}  // namespace ronde::inline v0
