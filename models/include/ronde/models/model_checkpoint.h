/// ModelCheckpoint: saves the model while it trains, as Keras' callback of that name does.
///
///     ModelCheckpoint best({.filepath = "best-{epoch:02d}-{val_loss:.2f}.h5", .save_best_only = true});
///     ModelCheckpoint steps({.filepath = "step-{epoch}-{batch}.h5", .save_steps = 500, .keep = 3});
///
/// The path is a Python format string with `epoch` (1-based), `batch` (1-based, only when saving after a
/// number of steps) and every key of the logs; within an epoch these are the means of its steps so far, over
/// all ranks. Those that no file of this training could have are refused before its first step. An
/// improvement is strict. Epochs without a validation (FitOptions::validation_freq) make no file of which a
/// value of it is monitored or in the path. A file is decided upon when all callbacks have seen the step or
/// epoch (SavePoint), so it holds what they decided, this one's best value too: `fit` goes on from it
/// exactly.
///
/// A run that goes on has `keep` and `keep_best` count its files before too: those that have a name of the
/// pattern, in the pattern's own folder, wherever the run was until then.
///
/// Rank 0 writes, beside the training. A disk that is full or fails is a warning (FitOptions::warn): the file
/// before stays and training goes on, however often that happens. So is any failure of the file system once a
/// file has been written; before that, a path that names no place to write to is thrown on all ranks. A link
/// or a directory that has the name of an epoch's file is thrown before the first step, as is a .keras file
/// of a net that none can describe, one with a `forward` of its own: an .h5 takes it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/models/callback.h>
#include <ronde/models/monitor.h>

namespace ronde::inline v0 {

class FileRemover;
class SaveInterval;

struct ModelCheckpointOptions {
  std::string filepath = {};
  std::string monitor = "val_loss";
  int verbose = 0;  ///< 1: says on rank 0 what it does, and for how long training paused
  bool save_best_only = false;
  bool save_weights_only = false;
  MonitorMode mode = MonitorMode::automatic;
  /// Keras' save_freq. 0: at the end of each epoch; else after so many steps, counted across epochs.
  std::int64_t save_steps = 0;
  /// Instead of `save_steps`: after as many steps as lose the least time, if the job fails once in so many
  /// seconds on average (Young, 1974; Daly, 2006). What a save costs, and a step, rank 0 measures. 0: off.
  double mtbf_seconds = 0.0;
  bool save_last = false;  ///< with save_steps: after the last step of the training too
  std::optional<double> initial_value_threshold = {};  ///< the value that the first best has to beat
  /// If one of these is set, of the files of this callback only the newest `keep` and the `keep_best` with
  /// the best monitored values stay; the others are deleted once a newer one is safe.
  std::int64_t keep = 0;
  std::int64_t keep_best = 0;
};

class RONDE_API ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(ModelCheckpointOptions options);
  ~ModelCheckpoint() override;

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void on_save_point(SavePoint& point) override;
  std::string state_name() const override { return "model_checkpoint"; }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  /// Of the file written last; empty when there is none yet. The same on all ranks.
  const std::string& last_path() const { return last_path_; }
  /// Of the monitored value; nothing yet: empty.
  std::optional<double> best() const { return monitor_.best(); }
  /// For which training paused at the save before: waiting for the write before it, and the snapshot.
  double last_pause_seconds() const { return last_pause_; }
  /// The same over all saves.
  double total_pause_seconds() const { return total_pause_; }
  /// Steps from one save to the next, as they are now; 0: it saves after epochs.
  std::int64_t save_interval() const { return interval_; }

 private:
  bool is_due(const SavePoint& point) const;
  struct File {
    std::string path;
    double value = 0.0;  ///< NaN where nothing is monitored
  };

  /// All ranks get what rank 0 finds best.
  void choose_interval();
  bool monitors() const { return options_.save_best_only || options_.keep_best > 0; }
  bool has_values(const SavePoint& point) const;
  void forget_missing_files();
  void note_file(const std::string& path, double value);
  void order(SavePoint& point, double value, const std::string& message);
  std::string path_for(SavePoint& point);
  void settle(const std::string& path, bool written);
  std::vector<std::string> take_superfluous();
  bool is_among_best(double value) const;
  void say(const std::string& message) const;

  ModelCheckpointOptions options_;
  Monitor monitor_;
  std::unique_ptr<FileRemover> remover_;
  std::unique_ptr<SaveInterval> measured_;  ///< with mtbf_seconds
  std::int64_t interval_ = 0;               ///< steps; 0: epochs
  std::int64_t steps_since_save_ = 0;
  std::string last_path_;
  double last_pause_ = 0.0, total_pause_ = 0.0;
  bool is_restored_ = false;  ///< and has saved nothing since
  std::vector<File> files_;   ///< oldest first; those that may be deleted later
};

}  // namespace ronde::inline v0
