// Speed of the reference nets on this machine; see README.md.
#include <cstdio>

#include <sys/resource.h>

#include <ronde/core/backend.h>
#include <ronde/core/error.h>
#include <ronde/core/machine_speed.h>
#include <ronde/core/thread_pool.h>

#include "kernel_table.h"
#include "options.h"
#include "stopwatch.h"
#include "training_step.h"

namespace bench {
namespace {

struct Result {
  double images_per_second, best_images_per_second, gflops, peak;
  double first_step;  ///< seconds from the start of main to the end of the first step
  long rss_mb;        ///< the most memory that the process had
};

Result measure(const Options& options, ronde::ThreadPool& pool, const Stopwatch& since_main) {
  TrainingStep step(options.net, options.batch);
  const auto call = [&] { options.evaluate ? step.evaluate() : step.run(); };
  call();
  const double first_step = since_main.seconds();
  const double before = ronde::measure_fma_peak(pool);
  const Timing timing = time_calls(options.seconds, call);
  const double peak = std::max(before, ronde::measure_fma_peak(pool));
  const auto batch = static_cast<double>(options.batch);
  const double rate = batch / timing.median;
  const Net& net = step.net();
  const double mflop = options.evaluate ? net.forward_mflop_per_image : net.mflop_per_image;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {rate, batch / timing.best, rate * mflop * 1e-3, peak, first_step, usage.ru_maxrss / 1024};
}

void print(const Options& o, const std::string& backend, const Result& r) {
  const char* format =
      o.json ? "{\"net\": \"%s\", \"batch\": %lld, \"threads\": %d, \"backend\": \"%s\", "
               "\"images_per_second\": %.0f, \"best\": %.0f, \"gflops\": %.1f, \"fma_peak\": %.1f, "
               "\"ratio\": %.3f, \"import_s\": 0, \"first_step_s\": %.3f, \"rss_mb\": %ld}\n"
             : "%s, batch %lld, %d threads, %s: %.0f images/s (best %.0f), %.1f GF/s, FMA peak %.1f GF/s, "
               "ratio %.3f; first step after %.3f s, %ld MB\n";
  std::printf(format, o.net.c_str(), static_cast<long long>(o.batch), o.threads, backend.c_str(),
              r.images_per_second, r.best_images_per_second, r.gflops, r.peak, r.gflops / r.peak,
              r.first_step, r.rss_mb);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const bench::Stopwatch since_main;
  try {
    const bench::Options options = bench::parse_options(argc, argv);
    ronde::Backend& backend = ronde::default_backend();
    backend.threads().resize(options.threads);
    if (options.layers)
      bench::print_kernel_table(options);
    else
      bench::print(options, backend.name(), bench::measure(options, backend.threads(), since_main));
    return 0;
  } catch (const ronde::Error& error) {
    std::fprintf(stderr, "ronde_bench: %s\n%s", error.what(),
                 error.status() == ronde::ExitStatus::usage ? bench::kUsage : "");
    return static_cast<int>(error.status());
  }
}
