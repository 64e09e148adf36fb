#include "callbacks/save_interval.h"

#include <algorithm>
#include <cmath>

namespace ronde::inline v0 {

namespace {

constexpr double kMostGrowth = 8.0;  // one measurement of a short time may be far off

}  // namespace

double best_save_interval(double cost, double mtbf) {
  if (cost >= 2.0 * mtbf) return mtbf;
  const double part = cost / (2.0 * mtbf);
  return std::sqrt(2.0 * cost * mtbf) * (1.0 + std::sqrt(part) / 3.0 + part / 9.0) - cost;
}

void SaveInterval::add_step(double seconds) {
  step_seconds_ += seconds;
  ++steps_;
}

// The mean of what was before and what is now: one late disk should not decide for long.
void SaveInterval::add_pause(double seconds) {
  pause_ = pause_ == 0.0 ? seconds : 0.5 * (pause_ + seconds);
}

std::int64_t SaveInterval::next(std::int64_t before) {
  const double step = steps_ > 0 ? step_seconds_ / static_cast<double>(steps_) : 0.0;
  step_seconds_ = 0.0;
  steps_ = 0;
  const double cost = pause_ + write_;
  if (step <= 0.0 || cost <= 0.0) return before;
  const double best = best_save_interval(cost, mtbf_) / step;
  const double most = kMostGrowth * static_cast<double>(before);
  return std::max<std::int64_t>(1, std::llround(std::min(best, most)));
}

}  // namespace ronde::inline v0
