/// LearningRateScheduler: the rate of each epoch from a function, as Keras' callback of that name does. Adds
/// `learning_rate` to the epoch's logs.
///
///     LearningRateScheduler decay({.schedule = [](std::int64_t epoch, double rate) {
///       return epoch < 10 ? rate : 0.9 * rate;
///     }});
///
/// The function is asked on rank 0 when an epoch begins, not again when training is resumed within it, and
/// all ranks take its answer.
#pragma once

#include <functional>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct LearningRateSchedulerOptions {
  /// The new rate, from the epoch (0-based) and the rate so far.
  std::function<double(std::int64_t epoch, double rate)> schedule = {};
  int verbose = 0;  ///< 1: says on rank 0 what it sets
};

class RONDE_API LearningRateScheduler : public Callback {
 public:
  explicit LearningRateScheduler(LearningRateSchedulerOptions options);

  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;

 private:
  double ask(std::int64_t epoch);

  LearningRateSchedulerOptions options_;
};

}  // namespace ronde::inline v0
