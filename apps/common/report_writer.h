/// ReportWriter: fills a Report while training runs and writes it after each epoch.
#pragma once

#include <string>
#include <vector>

#include <ronde/data/sampler.h>
#include <ronde/models/callback.h>

#include "common/report.h"

namespace ronde::apps {

struct ReportWriterOptions {
  std::vector<std::string> paths;  ///< all get the same
  SamplerOptions sampler;          ///< as `fit` samples, to know how many samples an epoch has
  std::function<void(const std::string& path)> on_written = {};  ///< told of each file, on rank 0
};

/// Give it to `fit` as the last callback, so that it sees all logs. When training is resumed, the epochs that
/// `report` has from before stay, as far as they are not repeated.
class ReportWriter : public Callback {
 public:
  ReportWriter(Report& report, ReportWriterOptions options);

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;

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

  Report& report_;
  ReportWriterOptions options_;
  ShardedSampler sampler_;
  bool has_begun_ = false;
  bool warned_ = false;
};

}  // namespace ronde::apps
