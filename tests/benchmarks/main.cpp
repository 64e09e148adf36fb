// Speed of the reference nets on this machine; see README.md.
#include <algorithm>
#include <cstdio>

#include <sys/resource.h>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/error.h>
#include <ronde/core/machine_speed.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/values.h>

#include "kernel_table.h"
#include "options.h"
#include "stopwatch.h"
#include "training_step.h"

namespace bench {
namespace {

using ronde::Communicator;
using ronde::Reduction;

/// Of all ranks together, but for the last two.
struct Result {
  double images_per_second, best_images_per_second, gflops, peak;
  double first_step;  ///< seconds from the start of main to the end of the first step
  long rss_mb;        ///< the most memory that the process had
};

double over_ranks(Communicator& world, double value, Reduction op) {
  return world.size() == 1 ? value : allreduce_value(world, value, {.op = op}).wait();
}

/// The slowest rank's; all ranks make the same number of calls.
template <class F>
Timing time_together(Communicator& world, double seconds, F&& call) {
  if (world.size() == 1) return time_calls(seconds, call);
  const Timing usual = time_calls(0.0, call);
  const double count = over_ranks(world, seconds / usual.median, Reduction::max);
  const Timing own = time_while(
      [=](double, std::size_t calls) { return calls < 3 || static_cast<double>(calls) < count; }, call);
  return {over_ranks(world, own.median, Reduction::max), over_ranks(world, own.best, Reduction::max)};
}

TrainingStep make_step(const Options& options, Communicator& world) {
  return TrainingStep(options.net, options.batch, world.size() > 1 ? &world : nullptr, {},
                      ronde::default_backend(), options.compute_dtype());
}

Result measure(const Options& options, Communicator& world, const Stopwatch& since_main) {
  ronde::ThreadPool& pool = ronde::default_backend().threads();
  TrainingStep step = make_step(options, world);
  const auto call = [&] { options.evaluate ? step.evaluate() : step.run(); };
  call();
  const double first_step = since_main.seconds();
  const double before = ronde::measure_fma_peak(pool);
  const Timing timing = time_together(world, options.seconds, call);
  const double own_peak = std::max(before, ronde::measure_fma_peak(pool));
  const double images = static_cast<double>(options.batch) * world.size();
  const double rate = images / timing.median;
  const Net& net = step.net();
  const double known = options.evaluate ? net.forward_mflop_per_image : net.mflop_per_image;
  const double mflop = known > 0 ? known : count_mflop_per_image(options);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {rate,       images / timing.best,  rate * mflop * 1e-3, over_ranks(world, own_peak, Reduction::sum),
          first_step, usage.ru_maxrss / 1024};
}

void print(const Options& o, Communicator& world, const Result& r) {
  const char* format =
      o.json ? "{\"net\": \"%s\", \"batch\": %lld, \"threads\": %d, \"ranks\": %d, \"backend\": \"%s\", "
               "\"images_per_second\": %.1f, \"best\": %.1f, \"gflops\": %.1f, \"fma_peak\": %.1f, "
               "\"ratio\": %.3f, \"import_s\": 0, \"first_step_s\": %.3f, \"rss_mb\": %ld}\n"
             : "%s, batch %lld, %d threads, ranks: %d, %s: %.1f images/s (best %.1f), %.1f GF/s, "
               "FMA peak %.1f GF/s, ratio %.3f; first step after %.3f s, %ld MB\n";
  if (world.rank() > 0) return;
  std::printf(format, o.net.c_str(), static_cast<long long>(o.batch), o.threads, world.size(),
              ronde::default_backend().name().c_str(), r.images_per_second, r.best_images_per_second,
              r.gflops, r.peak, r.gflops / r.peak, r.first_step, r.rss_mb);
}

/// The same work in every run: nothing is timed, and what it was made with is said.
void run_steps(const Options& options, Communicator& world) {
  TrainingStep step = make_step(options, world);
  for (int i = 0; i < options.steps; ++i) options.evaluate ? step.evaluate() : step.run();
  if (world.rank() > 0) return;
  std::printf(
      "{\"net\": \"%s\", \"batch\": %lld, \"threads\": %d, \"ranks\": %d, \"steps\": %d, \"loss\": %.6f, "
      "\"build\": \"%s\", \"onednn\": \"%s\", \"isa\": \"%s\", \"convolutions\": \"%s\"}\n",
      options.net.c_str(), static_cast<long long>(options.batch), options.threads, world.size(),
      options.steps, step.last_loss(), RONDE_BENCH_BUILD, ronde::onednn_version().c_str(),
      ronde::instruction_set().c_str(), ronde::convolution_algorithm().c_str());
}

void run(Options options, Communicator& world, const Stopwatch& since_main) {
  ronde::ThreadPool& pool = ronde::default_backend().threads();
  if (options.threads > 0) pool.resize(options.threads);
  options.threads = pool.size();
  if (options.layers) {
    ronde::require<ronde::UsageError>(world.size() == 1, "--layers is for one process, not for ",
                                      world.size());
    print_kernel_table(options);
  } else if (options.steps > 0) {
    run_steps(options, world);
  } else {
    print(options, world, measure(options, world, since_main));
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const bench::Stopwatch since_main;
  bench::Options options;
  try {
    options = bench::parse_options(argc, argv);
  } catch (const ronde::Error& error) {
    std::fprintf(stderr, "ronde_bench: %s\n%s", error.what(), bench::kUsage);
    return static_cast<int>(error.status());
  }
  return ronde::run_main(argc, argv,
                         [&](ronde::Communicator& world) { bench::run(options, world, since_main); });
}
