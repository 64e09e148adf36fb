/// CSVLogger: one row of numbers an epoch, in the file that Keras' callback of that name writes: columns
/// `epoch` (0-based) and the keys of the first epoch in alphabetical order, lines ending in CR LF, `NA` for a
/// value that is missing later. Only rank 0 writes; each row is in the file when its epoch ends.
#pragma once

#include <cstdio>
#include <memory>
#include <vector>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

struct CSVLoggerOptions {
  std::string filename = {};
  char separator = ',';
  bool append = false;  ///< true: goes on behind what the file has, without a second header
};

class RONDE_API CSVLogger : public Callback {
 public:
  explicit CSVLogger(CSVLoggerOptions options);
  ~CSVLogger() override;

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_end(const Logs& logs) override;

 private:
  void open();
  void write_row(std::int64_t epoch, const Logs& logs);

  CSVLoggerOptions options_;
  std::FILE* file_ = nullptr;
  bool needs_header_ = true;
  std::vector<std::string> keys_;
};

}  // namespace ronde::inline v0
