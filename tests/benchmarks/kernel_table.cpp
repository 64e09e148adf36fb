#include "kernel_table.h"

#include <cstdio>
#include <vector>

#include "stopwatch.h"
#include "timed_backend.h"
#include "training_step.h"

namespace bench {

namespace {

constexpr int kFirstSteps = 2;  // which fill caches and ask the system for memory

void print(const Options& options, const KernelTimes& times, double step_ms) {
  double in_kernels = 0;
  std::printf("%6s %9s %6s %14s  %s\n", "calls", "ms", "%", "rate", "kernel: outputs <- inputs");
  for (const KernelRow& row : times.rows()) {
    const double ms = median(row.seconds) * 1e3;
    std::printf("%6d %9.3f %6.1f %9.1f %s  %s\n", row.calls, ms, 100 * ms / step_ms,
                (row.flop > 0 ? row.flop : row.bytes) / ms * 1e-6, row.flop > 0 ? "GF/s" : "GB/s",
                row.name.c_str());
    in_kernels += ms;
  }
  std::printf("%6s %9.3f %6.1f %14s  %s\n", "", step_ms - in_kernels, 100 * (1 - in_kernels / step_ms), "",
              "between the kernels");
  std::printf("%6s %9.3f %6s %14s  %s, %.0f images/s\n", "", step_ms, "", "", "whole step",
              static_cast<double>(options.batch) / step_ms * 1e3);
}

}  // namespace

void print_kernel_table(const Options& options) {
  KernelTimes times;
  const auto backend = make_timed_backend(ronde::default_backend(), times);
  TrainingStep step(options.net, options.batch, nullptr, {}, *backend, options.compute_dtype());
  const auto call = [&] {
    options.evaluate ? step.evaluate() : step.run();
    times.end_step();
  };
  for (int i = 0; i < kFirstSteps; ++i) call();
  times.clear();
  const Timing whole = time_while(
      [&](double passed, std::size_t steps) { return passed < options.seconds || steps < 3; }, call);
  print(options, times, whole.median * 1e3);
}

double count_mflop_per_image(const Options& options) {
  KernelTimes times;
  const auto backend = make_timed_backend(ronde::default_backend(), times);
  TrainingStep step(options.net, 1, nullptr, {}, *backend, options.compute_dtype());
  times.clear();
  options.evaluate ? step.evaluate() : step.run();
  times.end_step();
  double flop = 0;
  for (const KernelRow& row : times.rows()) flop += row.flop;
  return flop * 1e-6;
}

}  // namespace bench
