/// ModelCheckpoint: saves the model while it trains, as Keras' callback of that name does.
///
///     ModelCheckpoint best({.filepath = "best-{epoch:02d}-{val_loss:.2f}.h5", .save_best_only = true});
///
/// The path is a Python format string with `epoch` (1-based), `batch` (1-based, only when saving after a
/// number of steps) and every key of the logs. An improvement is strict. Only rank 0 writes; a failed write
/// is thrown on all ranks.
#pragma once

#include <deque>
#include <optional>

#include <ronde/models/callback.h>
#include <ronde/models/monitor.h>

namespace ronde::inline v0 {

struct ModelCheckpointOptions {
  std::string filepath = {};
  std::string monitor = "val_loss";
  int verbose = 0;  ///< 1: says on rank 0 what it does
  bool save_best_only = false;
  bool save_weights_only = false;
  MonitorMode mode = MonitorMode::automatic;
  std::int64_t save_steps =
      0;  ///< 0: at the end of each epoch; else after so many steps, counted across epochs
  std::optional<double> initial_value_threshold = {};  ///< the value that the first save has to beat
  std::int64_t keep = 0;  ///< if set, the newest so many files are kept, older ones of this callback deleted
};

class RONDE_API ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(ModelCheckpointOptions options);

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  /// True when the path has a value of the logs in it and the step is one to save after.
  bool wants_batch_logs() const override;

  /// Of the file written last; empty when there is none yet.
  const std::string& last_path() const { return last_path_; }
  /// Of the monitored value; nothing yet: empty.
  std::optional<double> best() const { return monitor_.best(); }

 private:
  bool due_after_step() const;
  void save_if_better(const Logs& logs);
  void save(const Logs& logs);
  void forget_old(const std::string& path);
  void say(const std::string& message) const;

  ModelCheckpointOptions options_;
  Monitor monitor_;
  std::int64_t epoch_ = 0;
  std::int64_t steps_since_save_ = 0;
  std::string last_path_;
  std::deque<std::string> kept_;
};

}  // namespace ronde::inline v0
