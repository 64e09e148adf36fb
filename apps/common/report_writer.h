/// ReportWriter: fills a Report while training runs and writes it after each epoch.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <ronde/data/sampler.h>
#include <ronde/models/callback.h>

#include "report/report.h"

namespace ronde::apps {

/// Time of training steps, and their speed; 0 where there was no more than a first step.
struct Pace {
  double seconds = 0.0;
  double images_per_second = 0.0;
};

struct ReportWriterOptions {
  std::vector<std::string> paths;  ///< all get the same
  SamplerOptions sampler;          ///< as `fit` samples, to know how many samples an epoch has
  std::function<void(const std::string& path)> on_written = {};  ///< told of each file, on rank 0
};

/// Give it to `fit` as the last callback, so that it sees all logs. When training is resumed, the epochs that
/// `report` has from before stay, as far as they are not repeated, and times and speeds are those of the
/// whole run: the seconds of an epoch that was begun before are kept by the steps that the run goes on from.
/// So that a kill does not lose them, the file is written too when a checkpoint within an epoch is safe.
class ReportWriter : public Callback {
 public:
  ReportWriter(Report& report, ReportWriterOptions options);

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_begin(std::int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_save_point(SavePoint& point) override;

  /// Collective: measures memory and weights, then rank 0 replaces the files; IoError on all ranks. At the
  /// end of an epoch that is a warning only: a full disk is no reason to stop training.
  void write(Model& model);
  /// This rank alone, when the run ends early; errors are of no interest any more. `status`: "failed",
  /// "saved". What was refused before it began leaves the results of the run before as they are. Without an
  /// epoch that has ended it has no hash of weights, and of the memory it knows this rank's.
  void write_end(const std::string& status) noexcept;
  /// Whether `fit` has begun to train.
  bool has_begun() const { return has_begun_; }

 private:
  std::int64_t samples_of(std::int64_t epoch) const;
  Pace epoch_pace() const;
  void count_unfinished();
  void total_up();
  void write_files();
  void warn_once(const Error& error);

  Report& report_;
  ReportWriterOptions options_;
  ShardedSampler sampler_;
  Pace before_;                         // of the steps of its first epoch that a run has done before
  Pace earlier_;                        // of all that it has
  std::int64_t epoch_ = 0, steps_ = 0;  // of the last step; 0: none in this epoch
  std::atomic<bool> was_saved_ = false;
  bool has_begun_ = false;
  bool warned_ = false;
};

}  // namespace ronde::apps
