#include "tensorboard/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ronde::inline v0 {

namespace {
constexpr std::size_t kBuckets = 30;  // as tf.summary.histogram
}  // namespace

Histogram make_histogram(const std::vector<double>& values) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Histogram histogram{.min = kInfinity, .max = -kInfinity, .right_edges = {}, .counts = {}};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    histogram.min = std::min(histogram.min, value);
    histogram.max = std::max(histogram.max, value);
    histogram.count += 1.0;
    histogram.sum += value;
    histogram.sum_of_squares += value * value;
  }
  if (histogram.count == 0.0) return {};

  const double width = (histogram.max - histogram.min) / static_cast<double>(kBuckets);
  histogram.counts.resize(kBuckets);
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0.0 ? (value - histogram.min) / width : static_cast<double>(kBuckets);
    ++histogram.counts[std::min(static_cast<std::size_t>(place), kBuckets - 1)];
  }
  for (std::size_t i = 1; i < kBuckets; ++i)
    histogram.right_edges.push_back(histogram.min + width * static_cast<double>(i));
  histogram.right_edges.push_back(histogram.max);
  return histogram;
}

}  // namespace ronde::inline v0
