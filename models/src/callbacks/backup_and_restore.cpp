#include <ronde/models/backup_and_restore.h>

#include <filesystem>
#include <system_error>

#include <ronde/models/latest_checkpoint.h>
#include <ronde/models/save_point.h>

#include "files/wildcard.h"

namespace ronde::inline v0 {

namespace {

/// Two, so that there is one when the other is damaged.
constexpr std::int64_t kBackups = 2;
constexpr const char* kPrefix = "backup-";

/// Names that sort by age.
std::string pattern_of(const BackupAndRestoreOptions& options) {
  return cat(options.backup_dir, "/", kPrefix,
             options.save_freq > 0 ? "{epoch:05d}-{batch:07d}.h5" : "{epoch:05d}.h5");
}

BackupAndRestoreOptions checked(BackupAndRestoreOptions options) {
  require<UsageError>(!options.backup_dir.empty(), "[backup_and_restore] needs a backup_dir");
  require<UsageError>(options.save_freq >= 0, "[backup_and_restore] save_freq must not be negative, got ",
                      options.save_freq);
  return options;
}

/// The directory goes too, unless it holds something else. What cannot be looked at or deleted stays: the
/// training is done.
void delete_backups(const std::string& directory) try {
  std::error_code ignored;
  for (const std::filesystem::path& file : entries_of_directory(directory)) {
    const std::string name = file.filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(".h5")) std::filesystem::remove(file, ignored);
  }
  std::filesystem::remove(directory, ignored);
} catch (const IoError&) {
}

}  // namespace

BackupAndRestore::BackupAndRestore(BackupAndRestoreOptions options)
    : options_(checked(std::move(options))),
      files_({.filepath = pattern_of(options_), .save_steps = options_.save_freq, .keep = kBackups}) {}

void BackupAndRestore::on_train_begin(Model& model, const TrainingPlan& plan) {
  files_.attach(model, plan);
}

void BackupAndRestore::on_train_batch_end(std::int64_t batch, const Logs& logs) {
  files_.on_train_batch_end(batch, logs);
}

void BackupAndRestore::on_save_point(SavePoint& point) {
  files_.on_save_point(point);
}

void BackupAndRestore::on_train_end(const Logs&) {
  if (options_.delete_checkpoint && is_main_rank()) delete_backups(options_.backup_dir);
}

CallbackState BackupAndRestore::state() const {
  return files_.state();
}

void BackupAndRestore::restore(const CallbackState& state) {
  files_.restore(state);
}

std::string BackupAndRestore::resume_from(const std::function<void(const std::string&)>& warn) const {
  const LatestCheckpoint latest = latest_checkpoint(cat(options_.backup_dir, "/", kPrefix, "*.h5"));
  for (const std::string& line : latest.skipped) warn("backup skipped: " + line);
  return latest.path;
}

}  // namespace ronde::inline v0
