#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include <ronde/models/model_checkpoint.h>
#include <ronde/models/save_point.h>

namespace ronde::inline v0 {

/// When an evaluation may follow a checkpoint, by rank 0's clock.
struct EvaluationPace {
  double start_delay_secs = 0.0;
  double throttle_secs = 0.0;
};

/// A ModelCheckpoint that evaluates what it saved, now and then. The file is ordered first, so an evaluation
/// that is interrupted costs no checkpoint.
class EvaluatingCheckpoint : public ModelCheckpoint {
 public:
  /// `evaluate` is collective; empty: never.
  EvaluatingCheckpoint(ModelCheckpointOptions options, EvaluationPace pace, std::function<void()> evaluate);

  void on_save_point(SavePoint& point) override;
  void on_train_batch_begin(std::int64_t batch) override;

 private:
  using Clock = std::chrono::steady_clock;
  bool may_evaluate();

  EvaluationPace pace_;
  std::function<void()> evaluate_;
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> last_;  // when an evaluation began
  bool has_saved_ = false;                 // since the last look
};

}  // namespace ronde::inline v0
