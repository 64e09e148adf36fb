#include "report/axis.h"

#include <algorithm>
#include <cmath>

#include <ronde/core/text.h>

#include "report/html_text.h"

namespace ronde::apps {
namespace {

/// The smallest of 1, 2, 5, 10, ... times a power of ten that is at least `least`.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1.0 - 1e-9)) return factor * power;
  return 10.0 * power;
}

}  // namespace

std::vector<double> Ticks::values() const {
  std::vector<double> values;
  const auto count = std::llround((high - low) / step);
  for (long long i = 0; i <= count; ++i) values.push_back(low + static_cast<double>(i) * step);
  return values;
}

Ticks round_ticks(double low, double high, int count) {
  if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high))) {
    const double margin = low == 0.0 ? 0.5 : 0.2 * std::abs(low);
    low -= margin;
    high += margin;
  }
  Ticks ticks{.step = round_step((high - low) / count)};
  // Rounding outwards may take one step more than there is room for.
  for (;; ticks.step = round_step(1.5 * ticks.step)) {
    ticks.low = std::floor(low / ticks.step + 1e-9) * ticks.step;
    ticks.high = std::ceil(high / ticks.step - 1e-9) * ticks.step;
    if (std::llround((ticks.high - ticks.low) / ticks.step) <= count) return ticks;
  }
}

std::vector<std::int64_t> whole_ticks(std::int64_t first, std::int64_t last, int count) {
  if (last - first < count) {
    std::vector<std::int64_t> all;
    for (std::int64_t value = first; value <= last; ++value) all.push_back(value);
    return all;
  }
  const double least = static_cast<double>(last - first) / (count - 1);
  const auto step = static_cast<std::int64_t>(std::max(1.0, round_step(least)));
  std::vector<std::int64_t> ticks{first};
  for (std::int64_t value = step * (first / step + 1); value <= last; value += step)
    if (value - first >= step / 2) ticks.push_back(value);
  return ticks;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < 1e-9 * step) return "0";
  if (step >= 1.0) return whole(value);
  const int digits = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  if (digits <= 3) return fixed(value, digits);
  const auto exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  return cat(brief(value * std::pow(10.0, -exponent), 3), "e", exponent);
}

}  // namespace ronde::apps
