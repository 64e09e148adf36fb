#include <ronde/nn/top_k_accuracy.h>

#include <algorithm>
#include <cmath>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

/// Class of each row: a label, or the place of the largest value.
std::vector<std::int64_t> classes_of(const std::string& metric, const Tensor& target, const Shape& output) {
  if (target.rank() == 1 && target.size(0) == output[0]) return target.to_vector<std::int64_t>();
  require(target.shape() == output, "[", metric, "] expects labels (", output[0], ") or one-hot rows ",
          output, ", got ", target.shape());
  const Tensor indices = Tensor::empty({output[0]}, {.dtype = DType::i64, .backend = &target.backend()});
  target.backend().argmax(indices, target.contiguous());
  return indices.to_vector<std::int64_t>();
}

}  // namespace

TopKCategoricalAccuracy::TopKCategoricalAccuracy(Options options) : k_(options.k) {
  require<UsageError>(k_ > 0, "[top_k_categorical_accuracy] k must be positive, got ", k_);
}

void TopKCategoricalAccuracy::update(const Tensor& output, const Tensor& target) {
  require(output.rank() == 2, "[", name(), "] expects outputs of shape (n, classes), got ", output.shape());
  const std::vector<std::int64_t> classes = classes_of(name(), target, output.shape());
  const std::vector<double> scores = output.to_vector<double>();
  const std::int64_t width = output.size(1);
  for (std::size_t row = 0; row < classes.size(); ++row) {
    require(classes[row] >= 0 && classes[row] < width, "[", name(), "] label ", classes[row], " of row ", row,
            " is not in [0, ", width, ")");
    const double* of_row = scores.data() + static_cast<std::int64_t>(row) * width;
    const double own = of_row[classes[row]];
    const auto larger = std::count_if(of_row, of_row + width, [&](double other) { return other > own; });
    if (std::isfinite(own) && larger < k_) ++found_.sum;
  }
  found_.count += static_cast<double>(classes.size());
}

ConfigValue TopKCategoricalAccuracy::described(const char* class_name) const {
  return ConfigDict{{"class_name", class_name}, {"config", ConfigDict{{"name", name()}, {"k", k_}}}};
}

}  // namespace ronde::inline v0
