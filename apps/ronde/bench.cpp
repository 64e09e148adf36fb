// `ronde bench`
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include <ronde/core/backend.h>
#include <ronde/core/machine_speed.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/rank_facts.h>
#include <ronde/distributed/values.h>

#include "ronde/bench_facts.h"
#include "ronde/commands.h"

namespace ronde::apps {
namespace {

constexpr const char* kBenchDetails =
    "Measures the multiply-add peak and the memory bandwidth of this machine, the all-reduce from 4 bytes to "
    "100 MB,\n"
    "and training steps of the MNIST and the CIFAR-10 net: each rank for itself, and all together. Run it as "
    "the\n"
    "training will run: `mpirun -np 2 ronde bench`.";

/// The share of its cores that a program gets when it is alone on them, with some tolerance.
constexpr double kQuiet = 0.8;

double sum_over_ranks(Communicator& world, double value) {
  return allreduce_value(world, value, {.op = Reduction::sum}).wait();
}

// A rank's forward pass is a third of its step, the backward pass the rest.
double expected_efficiency(const TrainingSpeed& speed, int ranks, const Link& fit) {
  const double step = static_cast<double>(speed.batch * ranks) / speed.alone;
  const StepCost cost{
      .forward = step / 3, .backward = 2 * step / 3, .buckets = cut_into_buckets(speed.gradient_bytes)};
  return step_efficiency(cost, [&](double bytes) { return fit.latency + bytes * fit.seconds_per_byte; });
}

struct Moment {
  double wall = 0.0, processor = 0.0;  // seconds; of all threads of the process
};

Moment now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(), seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

/// Of a core, for each thread of this rank: less than one when ranks take turns.
double core_share(const std::vector<CrowdedNode>& nodes, int rank) {
  for (const CrowdedNode& node : nodes)
    if (std::find(node.ranks.begin(), node.ranks.end(), rank) != node.ranks.end())
      return static_cast<double>(node.cores) / node.threads;
  return 1.0;
}

// All threads of all ranks work all the time here, so what they do not get of the cores others have. A rank's
// best run may be one in which it had a core that it shares for itself.
void measure_machine(Communicator& world, ThreadPool& pool, double core_share, BenchResult& result) {
  world.barrier().wait();
  const Moment begin = now();
  const double peak = measure_fma_peak(pool) * core_share;
  const double bandwidth = measure_memory_bandwidth(pool) * core_share;
  const Moment end = now();
  const double got = (end.processor - begin.processor) / (end.wall - begin.wall) / pool.size();
  result.fma_peak = sum_over_ranks(world, peak);
  result.memory_bandwidth = sum_over_ranks(world, bandwidth) / world.cross_size();
  const double share = sum_over_ranks(world, got) / world.size();
  if (share < kQuiet && result.warnings.empty())
    result.warnings.push_back(cat("other programs had ", static_cast<int>(100.0 * (1.0 - share)),
                                  " % of these cores meanwhile: this is not what the machine can do"));
}

}  // namespace

BenchResult run_bench(Communicator& world, const BenchOptions& options) {
  const std::vector<RankFacts> facts = gather_rank_facts(world);
  ThreadPool& pool = default_backend().threads();
  BenchResult result{.ranks = world.size(),
                     .nodes = world.cross_size(),
                     .threads = pool.size(),
                     .transport = world.transport(),
                     .kernels = facts.front().kernels};
  const std::vector<CrowdedNode> crowded = find_crowded_nodes(facts);
  for (const CrowdedNode& node : crowded) result.warnings.push_back(describe(node));
  measure_machine(world, pool, core_share(crowded, world.rank()), result);
  result.curve = measure_allreduce_curve(world, options);
  result.training = measure_training(world, options);
  if (result.curve.empty()) return result;
  result.fit = fit_link(result.curve);
  for (TrainingSpeed& speed : result.training)
    speed.expected_efficiency = expected_efficiency(speed, world.size(), *result.fit);
  return result;
}

double allreduce_memory_speed(const BenchResult& result, const TimedMessage& message) {
  return 2.0 * message.bytes * result.ranks / result.nodes / message.seconds * 1e-9;
}

Command bench_command() {
  struct Wishes {
    bool json = false, quick = false;
  };
  const auto wishes = std::make_shared<Wishes>();
  return {.name = "bench",
          .help = "measure this machine, its ranks, and training on them",
          .details = kBenchDetails,
          .arguments = {flag("--json", "for scripts", wishes->json),
                        flag("--quick", "a few seconds, less exact", wishes->quick)},
          .run = [wishes](Communicator& world) {
            BenchOptions options;
            if (wishes->quick)
              options = {.seconds_per_size = 0.03, .seconds_per_run = 0.2, .runs = 1, .largest = 4'799'528};
            const BenchResult result = run_bench(world, options);
            on_main(world, [&] {
              std::fputs((wishes->json ? bench_json(result) : bench_text(result)).c_str(), stdout);
            });
          }};
}

}  // namespace ronde::apps
