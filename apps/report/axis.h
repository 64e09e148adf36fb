/// Ticks of a chart's axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::apps {

/// Round values (1, 2 or 5 times a power of ten apart) around a range.
struct Ticks {
  double low = 0.0;   ///< the first tick
  double high = 1.0;  ///< the last tick
  double step = 1.0;
  std::vector<double> values() const;
};

/// At most `count` steps from at or below `low` to at or above `high`; a range of nothing is widened. Both
/// must be finite.
Ticks round_ticks(double low, double high, int count);

/// Whole numbers in [first, last], both ends or nearly so, at most `count`.
std::vector<std::int64_t> whole_ticks(std::int64_t first, std::int64_t last, int count);

/// With as many digits as neighbours need to differ: "0.25" for a step of 0.05, "12,000" for one of 1,000,
/// "5e-5" for one of 0.00005.
std::string tick_label(double value, double step);

}  // namespace ronde::apps
