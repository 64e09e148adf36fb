/// Report: what a run did, for scripts (--metrics-json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ronde::apps {

/// An epoch's training; averages over all samples of all ranks.
struct EpochReport {
  std::int64_t epoch = 0;  ///< from 1
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double loss = 0.0;
  double accuracy = 0.0;
  std::optional<double> val_loss;
  std::optional<double> val_accuracy;
  double learning_rate = 0.0;
  double seconds = 0.0;            ///< of training steps; no evaluation
  double images_per_second = 0.0;  ///< all ranks together, without the run's first step
};

struct TestReport {
  double loss = 0.0;
  double accuracy = 0.0;
  std::int64_t correct = 0;
  std::int64_t count = 0;
};

/// The part that is done of an epoch that has not ended.
struct UnfinishedEpoch {
  std::int64_t epoch = 0;  ///< from 1
  std::int64_t steps = 0;
  double seconds = 0.0;
  double images_per_second = 0.0;
};

struct Report {
  std::string program;
  std::string recipe;
  int world_size = 1;
  int threads = 1;  ///< of a rank
  std::string device;
  std::string precision;
  bool deterministic = false;
  std::int64_t seed = 0;
  std::int64_t parameters = 0;
  std::int64_t global_batch = 0;
  /// Then "finished", "saved" or "failed"; with a test whose loss is finite that is "failed", only files are
  /// missing.
  std::string status = "running";
  std::vector<EpochReport> epochs;
  std::optional<UnfinishedEpoch> unfinished;  ///< behind `epochs`, when a checkpoint lies in it
  std::optional<TestReport> test;
  double train_seconds = 0.0;  ///< of all epochs, the unfinished one too
  double images_per_second = 0.0;
  std::int64_t peak_rss_bytes = 0;  ///< of the largest rank
  std::string weights_sha256;
  std::string checkpoint;  ///< empty: none
};

/// As JSON text; a number that is not finite becomes null.
std::string to_json(const Report& report);

}  // namespace ronde::apps
