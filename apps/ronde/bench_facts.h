/// What `ronde bench` measures, and what it makes of it; shown as text or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/scaling_model.h>

namespace ronde::apps {

struct BenchOptions {
  double seconds_per_size = 0.3;       ///< of the all-reduce curve
  double seconds_per_run = 0.8;        ///< of training
  int runs = 5;                        ///< alone and together, in turn
  std::int64_t largest = 100'000'000;  ///< bytes of an all-reduce
};

/// A net trained by each rank for itself, all at the same time, and by all ranks together.
struct TrainingSpeed {
  std::string net = {};
  std::int64_t batch = 0;  ///< of a rank
  double gradient_bytes = 0.0;
  double flop_per_image = 0.0;
  double alone = 0.0;     ///< images per second, of all ranks
  double together = 0.0;  ///< the same; 0 on one rank
  /// By the model of scaling_model.h, with the measured all-reduce; 1 on one rank.
  double expected_efficiency = 1.0;
};

struct BenchResult {
  int ranks = 1;
  int nodes = 1;
  int threads = 1;  ///< of a rank
  std::string transport = {};
  std::string kernels = {};
  double fma_peak = 0.0;                 ///< GF/s of all ranks, at the same time
  double memory_bandwidth = 0.0;         ///< GB/s of a node; bytes read and written
  std::vector<TimedMessage> curve = {};  ///< of f32 all-reduces; empty on one rank
  std::optional<Link> fit = {};          ///< of the curve: of the whole all-reduce, not of one message
  std::vector<TrainingSpeed> training = {};
  std::vector<std::string> warnings = {};
};

/// Collective, as all of these.
BenchResult run_bench(Communicator& world, const BenchOptions& options);
/// Of each size the median over the calls, of the slowest rank.
std::vector<TimedMessage> measure_allreduce_curve(Communicator& world, const BenchOptions& options);
std::vector<TrainingSpeed> measure_training(Communicator& world, const BenchOptions& options);

std::string bench_text(const BenchResult& result);
std::string bench_json(const BenchResult& result);

/// Memory that an all-reduce has to read and write on a node, each rank's values once, by its time: GB/s.
double allreduce_memory_speed(const BenchResult& result, const TimedMessage& message);

}  // namespace ronde::apps
