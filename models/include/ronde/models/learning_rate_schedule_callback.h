/// LearningRateScheduleCallback: rate = initial * multiplier(epoch) within a range of epochs, as Horovod's
/// callback of that name does. Several of them, one after the other, make a schedule in steps. Adds
/// `learning_rate` to the epoch's logs.
///
///     LearningRateScheduleCallback from_30({.multiplier = 0.1, .start_epoch = 30, .end_epoch = 60});
///     LearningRateScheduleCallback decay({.function = [](double epoch) { return std::exp(-0.1 * epoch); },
///                                         .staircase = false});
///
/// The function must give the same on all ranks: it is called on each of them.
#pragma once

#include <functional>
#include <optional>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct LearningRateScheduleOptions {
  double initial_learning_rate = 0.0;                 ///< 0: the optimizer's when training begins
  double multiplier = 1.0;                            ///< rate = initial * multiplier ^ (epoch - start_epoch)
  std::function<double(double epoch)> function = {};  ///< if given, rate = initial * function(epoch)
  std::int64_t start_epoch = 0;
  std::optional<std::int64_t> end_epoch = {};  ///< the first epoch that is left alone again
  /// true: set once, at an epoch's first batch. false: at every batch, with a fraction of an epoch; only with
  /// `function`.
  bool staircase = true;
  bool momentum_correction = true;  ///< as of LearningRateWarmup
};

class RONDE_API LearningRateScheduleCallback : public Callback {
 public:
  explicit LearningRateScheduleCallback(LearningRateScheduleOptions options);

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;

  std::string state_name() const override { return "learning_rate_schedule"; }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  double multiplier(double epoch) const;

  LearningRateScheduleOptions options_;
  double initial_rate_ = 0.0;
  std::int64_t epoch_ = 0;
};

}  // namespace ronde::inline v0
