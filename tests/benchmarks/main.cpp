// Speed of the reference nets on this machine; see README.md.
#include <cstdio>

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
};

Result measure(const Options& options, ronde::ThreadPool& pool) {
  TrainingStep step(options.net, options.batch);
  const double before = ronde::measure_fma_peak(pool);
  const Timing timing = time_calls(options.seconds, [&] { step.run(); });
  const double peak = std::max(before, ronde::measure_fma_peak(pool));
  const auto batch = static_cast<double>(options.batch);
  const double rate = batch / timing.median;
  return {rate, batch / timing.best, rate * step.mflop_per_image() * 1e-3, peak};
}

void print(const Options& o, const std::string& backend, const Result& r) {
  const char* format =
      o.json ? "{\"net\": \"%s\", \"batch\": %lld, \"threads\": %d, \"backend\": \"%s\", "
               "\"images_per_second\": %.0f, \"best\": %.0f, \"gflops\": %.1f, \"fma_peak\": %.1f, "
               "\"ratio\": %.3f}\n"
             : "%s, batch %lld, %d threads, %s: %.0f images/s (best %.0f), %.1f GF/s, FMA peak %.1f GF/s, "
               "ratio %.3f\n";
  std::printf(format, o.net.c_str(), static_cast<long long>(o.batch), o.threads, backend.c_str(),
              r.images_per_second, r.best_images_per_second, r.gflops, r.peak, r.gflops / r.peak);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    const bench::Options options = bench::parse_options(argc, argv);
    ronde::Backend& backend = ronde::default_backend();
    backend.threads().resize(options.threads);
    if (options.layers)
      bench::print_kernel_table(options);
    else
      bench::print(options, backend.name(), bench::measure(options, backend.threads()));
    return 0;
  } catch (const ronde::Error& error) {
    std::fprintf(stderr, "ronde_bench: %s\n%s", error.what(),
                 error.status() == ronde::ExitStatus::usage ? bench::kUsage : "");
    return static_cast<int>(error.status());
  }
}
