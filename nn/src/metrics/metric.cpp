#include <ronde/core/backend.h>
#include <ronde/nn/metric.h>

#include "losses/targets.h"
#include "metrics/binary_outcomes.h"

namespace ronde::inline v0 {

void Accuracy::update(const Tensor& output, const Tensor& target) {
  require(output.rank() >= 2, "[accuracy] expects outputs of shape (n, ..., classes), got ", output.shape());
  const Shape rows = rows_of(output.shape());
  if (rows[1] == 1) {
    const BinaryOutcomes outcomes = count_outcomes("accuracy", output, target, {});
    counts_.one_class += outcomes.true_positives + outcomes.true_negatives;
    counts_.all += rows[0];
    return;
  }
  if (!correct_.defined() || &correct_.backend() != &output.backend())
    correct_ = Tensor::full({}, static_cast<double>(correct() - counts_.one_class),
                            {.dtype = DType::i64, .backend = &output.backend()});
  if (rows[0] == 0) return check_as_many("accuracy", target, output.shape());
  output.backend().count_correct(correct_, output.contiguous().reshape(rows),
                                 class_labels("accuracy", target, output.shape()));
  counts_.all += rows[0];
}

std::int64_t Accuracy::correct() const {
  return counts_.one_class + (correct_.defined() ? correct_.to_vector<std::int64_t>()[0] : 0);
}

MetricSums Accuracy::sums() const {
  return {static_cast<double>(correct()), static_cast<double>(counts_.all)};
}

void Accuracy::reset() {
  if (correct_.defined()) correct_.fill(0.0);
  counts_ = {};
}

ConfigValue Accuracy::config() const {
  for (const char* known : {"accuracy", "acc", "categorical_accuracy", "sparse_categorical_accuracy"})
    if (name_ == known) return name_;
  if (class_name_.empty()) return {};
  return ConfigDict{{"class_name", class_name_}, {"config", ConfigDict{{"name", name_}}}};
}

}  // namespace ronde::inline v0
