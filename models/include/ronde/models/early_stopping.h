/// EarlyStopping: ends training when a value has not improved for some epochs, as Keras' callback of that
/// name does.
///
///     EarlyStopping stop({.monitor = "val_loss", .patience = 3, .restore_best_weights = true});
///
/// Logs are reduced over the ranks before callbacks see them, so all ranks stop at the same epoch.
///
/// restore_best_weights follows Keras 3: when training ends, for whatever reason, the model has the weights
/// of the best epoch. (Keras 2 took them only when it had stopped early, so a run that used all its epochs
/// ended with others.) The run that has ended so cannot be resumed, unless the best epoch was its last:
/// FitOptions::resume is refused then, of a file saved afterwards too. Checkpoints of the run can be, and
/// without `resume` fit trains on from the best weights, as in Keras.
#pragma once

#include <optional>

#include <ronde/models/callback.h>
#include <ronde/models/monitor.h>

namespace ronde::inline v0 {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0.0;     ///< an improvement is larger than this
  std::int64_t patience = 0;  ///< epochs (that have the value) without improvement before the end
  int verbose = 0;            ///< 1: says on rank 0 what it does
  MonitorMode mode = MonitorMode::automatic;
  std::optional<double> baseline = {};  ///< patience starts anew only after improvements that also beat this
  bool restore_best_weights = false;    ///< of the best epoch, when training ends
  std::int64_t start_from_epoch = 0;    ///< epochs before this one are not looked at
};

class RONDE_API EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(const Logs& logs) override;

  std::string state_name() const override { return "early_stopping"; }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  bool left_other_weights() const override { return left_other_weights_; }

  /// 0-based; -1 while it did not stop.
  std::int64_t stopped_epoch() const { return stopped_epoch_; }
  std::int64_t best_epoch() const { return best_epoch_; }

 private:
  void remember_weights(std::int64_t epoch);
  void restore_weights();
  void say(const std::string& message) const;

  EarlyStoppingOptions options_;
  Monitor monitor_;
  std::int64_t wait_ = 0;
  std::int64_t stopped_epoch_ = -1;
  std::int64_t best_epoch_ = 0;
  bool left_other_weights_ = false;
  std::vector<SavedWeight> best_weights_;  // all of the net, in the order of its parameters
};

}  // namespace ronde::inline v0
