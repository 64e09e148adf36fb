/// A chart of values by epoch, as an HTML figure with an inline SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::apps {

struct Series {
  std::string name = {};            ///< "training"
  std::vector<double> values = {};  ///< one for each epoch; NaN where there is none
};

struct LineChart {
  std::string title = {};
  std::vector<std::int64_t> epochs = {};
  std::vector<Series> series = {};  ///< at most two; those without any value are left out
  bool is_share = false;            ///< values in [0, 1], shown as percents
  bool from_zero = false;           ///< the axis begins at 0
};

/// Empty when there is nothing to show. Each epoch's values appear when the pointer is over it.
std::string line_chart(const LineChart& chart);

}  // namespace ronde::apps
