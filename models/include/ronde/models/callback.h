/// Callback: what happens around training, with Keras' hooks. `fit` calls every hook on every rank, in the
/// order in which the callbacks were given, with metrics already reduced over all ranks - so decisions agree
/// by construction.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ronde/models/model.h>
#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

class SavePoint;

/// What a callback must remember for a resumed run to go on as if it had never stopped: ReduceLROnPlateau's
/// best value and its patience, EarlyStopping's best weights.
struct CallbackState {
  ConfigDict values;
  std::vector<SavedWeight> tensors;
};

/// What `fit` was asked to do.
struct TrainingPlan {
  std::int64_t epochs = 0;
  std::int64_t initial_epoch = 0;  ///< the epoch in which training begins or goes on
  std::int64_t initial_step = 0;   ///< steps of that epoch that a resumed run has done before
  bool resumed = false;            ///< it goes on with an earlier run: logs are continued, not begun anew
  std::int64_t steps_per_epoch = 0;
  std::int64_t last_step = 0;  ///< how many steps there are when training has ended, over all epochs
  std::int64_t global_batch = 0;
  bool has_validation = false;       ///< epoch logs will have val_loss, ...
  ValidationFreq validation_freq = 1;  ///< those of these epochs: `validates`
  int verbose = 0;              ///< of this rank: 0 on all but rank 0
  /// Of the compiled metrics: how the logs call them (without "val_"), and which of their values are better.
  std::vector<std::pair<std::string, MetricDirection>> metrics = {};

  /// Whether an epoch ends with a validation.
  bool validates(std::int64_t epoch) const { return has_validation && validation_freq.includes(epoch); }
};

class RONDE_API Callback {
 public:
  virtual ~Callback() = default;
  /// What the hooks work on. `fit` says it before it calls any; a training loop of one's own does the same.
  void attach(Model& model, const TrainingPlan& plan);
  /// The model is valid from here to the end of training.
  virtual void on_train_begin(Model& model, const TrainingPlan& plan);
  virtual void on_train_end(const Logs& logs);
  /// Epochs and batches are 0-based. Callbacks may add to `logs` at the end of an epoch.
  virtual void on_epoch_begin(std::int64_t epoch);
  virtual void on_epoch_end(std::int64_t epoch, Logs& logs);
  virtual void on_train_batch_begin(std::int64_t batch);
  /// `logs` is empty unless some callback's `wants_batch_logs` is true: reading metrics waits for the device.
  /// They are this rank's means since the epoch began, so they differ from rank to rank: decide nothing by
  /// them.
  virtual void on_train_batch_end(std::int64_t batch, const Logs& logs);
  /// Asked before each on_train_batch_end.
  virtual bool wants_batch_logs() const { return false; }
  virtual void on_test_begin();
  virtual void on_test_end(const Logs& logs);
  /// Called after each step and after each epoch when every callback has seen it: what is saved now holds all
  /// their decisions.
  virtual void on_save_point(SavePoint& point);

  /// Names the state in checkpoints, "reduce_lr_on_plateau"; empty for a callback that remembers nothing. Two
  /// of one kind are told apart by their order.
  virtual std::string state_name() const { return {}; }
  /// Saved with a checkpoint, on rank 0, after every callback has seen the same step or epoch.
  virtual CallbackState state() const { return {}; }
  /// Asked on all ranks, with rank 0's state, before anything of a resumed training begins: UsageError when
  /// this callback belongs to another run. Such a refusal leaves all files as they were.
  virtual void require_same_run(const CallbackState& state) const;
  /// Called on all ranks with rank 0's state when training is resumed: after on_train_begin, and when it goes
  /// on within an epoch, after the on_epoch_begin that is repeated then. InputError when it does not fit.
  virtual void restore(const CallbackState& state);

  /// Asked after on_train_end: whether that left other weights than those of the last step. The run cannot go
  /// on from them.
  virtual bool left_other_weights() const { return false; }

  /// Asked on rank 0 before training begins: a checkpoint to go on from; empty: none. What must be said about
  /// it goes to `warn`.
  virtual std::string resume_from(const std::function<void(const std::string&)>& warn) const;

 protected:
  Model& model() const { return *model_; }
  const TrainingPlan& plan() const { return plan_; }
  bool is_main_rank() const;

 private:
  friend class Trainer;
  Model* model_ = nullptr;
  TrainingPlan plan_;
};

}  // namespace ronde::inline v0
