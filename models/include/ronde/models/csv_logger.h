/// CSVLogger: one row of numbers an epoch, in the file that Keras' callback of that name writes: columns
/// `epoch` (0-based), the keys of the first epoch in alphabetical order and, when there is none of validation
/// among them, val_* for each; numbers as Python prints them, lines ending in CR LF, `NA` for what an epoch
/// does not have. Only rank 0 writes; each row is in the file when its epoch ends. When the
/// disk is full then, that is a warning, and rows wait for the next epoch.
///
/// A resumed training goes on in the file of the run that it continues: rows of epochs that are repeated are
/// dropped first, as is a row that was cut short.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct CSVLoggerOptions {
  std::string filename = {};
  char separator = ',';
  bool append = false;  ///< true: goes on behind what the file has, without a second header
  /// Told on rank 0 when rows cannot be written, as FitOptions::warn. Empty: a line on stderr.
  std::function<void(const std::string& problem)> warn = {};
};

class AppendFile;

class RONDE_API CSVLogger : public Callback {
 public:
  explicit CSVLogger(CSVLoggerOptions options);
  ~CSVLogger() override;

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(const Logs& logs) override;

 private:
  void open();
  void close();
  std::string continued(const std::string& text, std::int64_t first_epoch);
  void choose_keys(const Logs& logs);
  std::string row(std::int64_t epoch, const Logs& logs);
  void write_pending();

  CSVLoggerOptions options_;
  std::unique_ptr<AppendFile> file_;  // on rank 0, during training
  std::string pending_;               // rows that could not be written yet
  bool needs_header_ = true;
  std::vector<std::string> keys_;
};

}  // namespace ronde::inline v0
