#include "report/probabilities.h"

#include <algorithm>
#include <cmath>

namespace ronde::apps {

std::vector<double> probabilities(std::span<const double> outputs) {
  std::vector<double> values(outputs.begin(), outputs.end());
  double total = 0.0;
  for (const double value : values) total += value;
  const bool none_negative = std::none_of(values.begin(), values.end(), [](double v) { return v < 0.0; });
  if (values.empty() || (none_negative && std::abs(total - 1.0) < 1e-3)) return values;
  const double largest = *std::max_element(values.begin(), values.end());
  total = 0.0;
  for (double& value : values) total += value = std::exp(value - largest);
  for (double& value : values) value /= total;
  return values;
}

}  // namespace ronde::apps
