/// ReduceLROnPlateau: a smaller learning rate when a value has stopped improving, as Keras' callback of that
/// name does. Adds `learning_rate` to the epoch's logs: the rate of that epoch, before it is changed; where
/// the optimizer has a schedule, what that makes of it for the next step, as in Keras.
///
///     ReduceLROnPlateau reduce({.factor = 0.5, .patience = 3, .verbose = 1, .min_lr = 1e-5});
///
/// After an epoch without improvement by more than min_delta `wait` grows; at `patience` the rate becomes
/// max(rate * factor, min_lr). Then come `cooldown` epochs that do not count. Logs are reduced over the ranks
/// before callbacks see them, so all ranks change the rate alike.
#pragma once

#include <ronde/models/callback.h>
#include <ronde/models/monitor.h>

namespace ronde::inline v0 {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;  ///< below 1
  std::int64_t patience = 10;
  int verbose = 0;  ///< 1: says on rank 0 what it does
  MonitorMode mode = MonitorMode::automatic;
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;  ///< epochs after a reduction in which nothing is counted
  double min_lr = 0.0;
};

class RONDE_API ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;

  std::string state_name() const override { return "reduce_lr_on_plateau"; }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  /// Of the monitored value; nothing yet: empty.
  std::optional<double> best() const { return monitor_.best(); }

 private:
  void reduce(std::int64_t epoch);

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  std::int64_t wait_ = 0;
  std::int64_t cooldown_left_ = 0;
};

}  // namespace ronde::inline v0
