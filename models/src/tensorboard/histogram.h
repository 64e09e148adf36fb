#pragma once

#include <vector>

namespace ronde::inline v0 {

/// How values are distributed over buckets of equal width between the smallest and the largest.
struct Histogram {
  double min = 0.0, max = 0.0;
  double count = 0.0, sum = 0.0, sum_of_squares = 0.0;
  std::vector<double> right_edges;
  std::vector<double> counts;
};

/// Of the finite values; without buckets when there are none. When all are equal the last bucket holds them.
Histogram make_histogram(const std::vector<double>& values);

}  // namespace ronde::inline v0
