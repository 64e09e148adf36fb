/// ReportWriter: fills a Report while training runs and writes it after each epoch.
#pragma once

#include <chrono>

#include <ronde/data/sampler.h>
#include <ronde/models/callback.h>

#include "common/report.h"

namespace ronde::apps {

struct ReportWriterOptions {
  std::string path;        ///< empty: nothing is written
  SamplerOptions sampler;  ///< as `fit` samples, to know how many samples a step has
};

/// Give it to `fit` as the last callback, so that it sees all logs.
class ReportWriter : public Callback {
 public:
  ReportWriter(Report& report, ReportWriterOptions options);

  void on_epoch_begin(std::int64_t epoch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;

  /// Collective: measures memory and weights, then rank 0 replaces the file.
  void write(Model& model);
  /// This rank alone, when the run fails; errors are of no interest any more.
  void write_failure() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  Report& report_;
  ReportWriterOptions options_;
  ShardedSampler sampler_;
  std::int64_t step_ = 0;  // of the run
  std::int64_t epoch_samples_ = 0, epoch_steps_ = 0;
  Clock::time_point epoch_begin_, last_step_end_;
  // Of the run, without its first step, which allocates and plans.
  double timed_seconds_ = 0.0;
  std::int64_t timed_samples_ = 0;
  Clock::time_point timed_begin_;
  std::int64_t timed_epoch_samples_ = 0;
};

}  // namespace ronde::apps
