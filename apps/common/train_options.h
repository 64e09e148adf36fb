/// The options that every trainer takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ronde/core/dtype.h>
#include <ronde/core/trace_recorder.h>
#include <ronde/distributed/distributed_options.h>

#include "common/command_line.h"

namespace ronde::apps {

/// As given; what is not given is up to the recipe.
struct TrainOptions {
  std::string recipe;
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> batch_size;  ///< of one rank
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> steps_per_epoch;
  /// As fast as whole batches of 128 and smaller: a rank holds some 15 to 25 MB less.
  std::optional<std::int64_t> micro_batch;
  std::int64_t backward_passes_per_step = 1;

  std::string optimizer;
  std::optional<double> learning_rate;
  std::optional<double> clip_norm;
  std::string scale_lr;
  std::int64_t warmup_epochs = 0;

  std::string data_dir;
  bool download = false;
  std::optional<std::int64_t> train_samples;
  std::optional<std::int64_t> test_samples;
  bool no_augmentation = false;

  std::string device = "auto";
  std::string precision = "float32";
  std::optional<std::int64_t> threads;
  std::int64_t seed = 0;
  bool deterministic = false;
  bool autotune = false;

  DistributedOptions distributed;

  std::string non_finite = "abort";
  std::int64_t non_finite_limit = 10;
  std::int64_t check_replicas = 100;  ///< steps; 0: never
  std::int64_t audit_steps = 0;       ///< 0: never

  double hang_timeout = 600.0;        ///< seconds; 0: no watchdog
  std::optional<double> max_seconds;  ///< of the program
  double end_time = 0.0;              ///< seconds since 1970; 0: none. From max_seconds, or Slurm

  std::string dir;
  std::string resume;      ///< "auto" or a file
  bool restarted = false;  ///< by `ronde run`: what this job has saved itself comes before `resume`
  std::string checkpoint;
  std::optional<std::int64_t> save_steps;  ///< 0: auto
  std::optional<double> mtbf;              ///< seconds; for save_steps auto
  std::optional<std::int64_t> keep;
  std::string log_dir;
  std::string metrics_json;
  std::string timeline;
  TraceWindow timeline_steps;
  std::int64_t timeline_mb = 64;
  std::string upload;             ///< a directory, or a command with {file} in it
  double upload_timeout = 300.0;  ///< seconds
  std::string verbose;

  DType dtype() const { return precision == "float64" ? DType::f64 : DType::f32; }
  std::optional<DType> compute_dtype() const {
    return precision == "mixed_bfloat16" ? std::optional(DType::bf16) : std::nullopt;
  }
  /// 0, 1 or 2; when not given, 1 at a terminal and 2 elsewhere.
  int verbosity() const;
  /// `name` in --dir, unless it is absolute.
  std::string path_in_dir(const std::string& name) const;
};

/// `recipes` are the words of --recipe; the first is the default.
void declare_train_options(CommandLine& line, TrainOptions& options, const std::vector<std::string>& recipes);
/// What no option can see alone: a UsageError when two of them contradict each other.
void check_train_options(const TrainOptions& options);

}  // namespace ronde::apps
