#include "training/straggler.h"

#include <algorithm>

namespace ronde::inline v0 {
namespace {

constexpr double kSlow = 1.3;
constexpr int kWindows = 3;
/// A difference that nobody notices, however large the ratio.
constexpr double kNoticeable = 200e-6;

// The lower median of all values but one that equals `own`.
double median_of_others(const std::vector<double>& sorted, double own) {
  const std::size_t middle = (sorted.size() - 2) / 2;
  return own <= sorted[middle] ? sorted[middle + 1] : sorted[middle];
}

std::vector<double> sorted(const std::vector<StepTimes>& ranks, double StepTimes::*what) {
  std::vector<double> values;
  for (const StepTimes& times : ranks) values.push_back(times.*what);
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

StepTimes step_times(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t quarters) { return seconds[quarters * (seconds.size() - 1) / 4]; };
  return {at(1), at(2), at(3)};
}

std::vector<Straggler> StragglerDetector::add(const std::vector<StepTimes>& ranks) {
  std::vector<Straggler> found;
  if (ranks.size() < 2) return found;
  slow_windows_.resize(ranks.size());
  const std::vector<double> medians = sorted(ranks, &StepTimes::median);
  const std::vector<double> uppers = sorted(ranks, &StepTimes::upper);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const StepTimes& own = ranks[r];
    const double others = median_of_others(medians, own.median);
    const bool is_slow = own.median >= kSlow * others && own.median - others >= kNoticeable &&
                         own.lower > median_of_others(uppers, own.upper);
    if (slow_windows_[r] == kWindows) continue;  // told before
    slow_windows_[r] = is_slow ? slow_windows_[r] + 1 : 0;
    if (slow_windows_[r] == kWindows) found.push_back({static_cast<int>(r), own.median, others});
  }
  return found;
}

}  // namespace ronde::inline v0
