#include <ronde/nn/top_k_accuracy.h>

#include <algorithm>
#include <cmath>

#include "losses/targets.h"
#include "metrics/sample_weights.h"

namespace ronde::inline v0 {

TopKCategoricalAccuracy::TopKCategoricalAccuracy(Options options) : options_(std::move(options)) {
  require<UsageError>(options_.k > 0, "[top_k_categorical_accuracy] k must be positive, got ", options_.k);
}

void TopKCategoricalAccuracy::update_weighted(const Tensor& output, const Tensor& target,
                                              const Tensor& weights) {
  require(output.rank() >= 2, "[", name(), "] expects outputs of shape (n, ..., classes), got ",
          output.shape());
  const std::vector<std::int64_t> classes =
      class_labels(name(), target, output.shape()).to_vector<std::int64_t>();
  const std::vector<double> scores = output.to_vector<double>();
  const std::vector<double> of_rows = weights_of_rows(name(), weights, output.shape());
  const std::int64_t width = output.shape().back();
  for (std::size_t row = 0; row < classes.size(); ++row) {
    require(classes[row] >= 0 && classes[row] < width, "[", name(), "] label ", classes[row], " of row ", row,
            " is not in [0, ", width, ")");
    const double* of_row = scores.data() + static_cast<std::int64_t>(row) * width;
    const double own = of_row[classes[row]];
    const auto larger = std::count_if(of_row, of_row + width, [&](double other) { return other > own; });
    if (std::isfinite(own) && larger < options_.k) found_ += of_rows[row];
    count_ += of_rows[row];
  }
}

MetricSums TopKCategoricalAccuracy::sums() const {
  return {found_, count_};
}

ConfigValue TopKCategoricalAccuracy::described(const char* class_name) const {
  return ConfigDict{{"class_name", class_name}, {"config", ConfigDict{{"name", name()}, {"k", options_.k}}}};
}

}  // namespace ronde::inline v0
