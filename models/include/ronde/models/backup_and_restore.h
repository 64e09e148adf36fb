/// BackupAndRestore: an interrupted training goes on by itself when the same program is started again, as
/// Keras' callback of that name lets it.
///
///     BackupAndRestore backup({.backup_dir = "backup"});
///     model.fit(train, {.epochs = 100, .callbacks = {&backup}});
///
/// When `fit` begins and the directory holds a good backup, weights, optimizer, callbacks, history and the
/// place in the data are taken from it: the run goes on as if it had never stopped, within an epoch too. Two
/// backups are kept, so that a damaged one costs no more than the way from the one before. Only rank 0 reads
/// and writes.
#pragma once

#include <string>

#include <ronde/models/model_checkpoint.h>

namespace ronde::inline v0 {

struct BackupAndRestoreOptions {
  std::string backup_dir = {};
  std::int64_t save_freq = 0;     ///< 0: at the end of each epoch; else after so many steps, across epochs
  bool delete_checkpoint = true;  ///< when training has ended well
};

class RONDE_API BackupAndRestore : public Callback {
 public:
  explicit BackupAndRestore(BackupAndRestoreOptions options);

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void on_save_point(SavePoint& point) override;
  std::string state_name() const override { return "backup_and_restore"; }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  std::string resume_from(const std::function<void(const std::string&)>& warn) const override;

 private:
  BackupAndRestoreOptions options_;
  ModelCheckpoint files_;
};

}  // namespace ronde::inline v0
