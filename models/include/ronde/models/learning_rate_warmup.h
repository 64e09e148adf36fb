/// LearningRateWarmup: lets the rate grow from initial / scale to initial over the first epochs, step by
/// step, as Horovod's callback does: rate = initial * (1 + e * (scale - 1) / warmup_epochs) / scale, where e
/// counts epochs, with fractions, at the end of the step. Adds
/// `learning_rate` to the epoch's logs.
#pragma once

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct LearningRateWarmupOptions {
  double initial_learning_rate = 0.0;  ///< what the rate grows to; 0: the optimizer's when training begins
  double scale = 0.0;                  ///< what that rate was scaled by; 0: the number of ranks
  double warmup_epochs = 5.0;
  /// Keeps the speed of weights with momentum when the rate changes: in the step that has a new rate the
  /// momentum is momentum * (new / old).
  bool momentum_correction = true;
  int verbose = 0;  ///< 1: says on rank 0 when it is done
};

class RONDE_API LearningRateWarmup : public Callback {
 public:
  explicit LearningRateWarmup(LearningRateWarmupOptions options = {});

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;

  std::string state_name() const override { return "learning_rate_warmup"; }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  LearningRateWarmupOptions options_;
  double target_ = 0.0;
  std::int64_t epoch_ = 0;
};

}  // namespace ronde::inline v0
