#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/metric.h>

#include "config/snake_case.h"
#include "losses/targets.h"
#include "metrics/binary_outcomes.h"
#include "metrics/device_sum.h"
#include "metrics/sample_weights.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kCategorical = "CategoricalAccuracy";
constexpr const char* kSparse = "SparseCategoricalAccuracy";

}  // namespace

void Metric::update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) {
  require<UsageError>(
      !weights.defined(), "[", name(),
      "] does not say how samples with weights, or the steps of outputs with a mask, count: override "
      "update_weighted, or, for the former, name it among metrics");
  update(output, target);
}

double Metric::value(const MetricSums& sums) const {
  require<UsageError>(sums.size() >= 2, "[", name(), "] has ", sums.size(),
                      " sums, which are no {sum, count}: override value to say what they mean");
  return sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
}

Accuracy::Accuracy(std::string name, std::string class_name)
    : name_(std::move(name)), class_name_(std::move(class_name)) {
  for (const char* known : {kCategorical, kSparse})
    if (class_name_.empty() && name_ == snake_case(known)) class_name_ = known;
}

void Accuracy::update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) {
  require(output.rank() >= 2, "[accuracy] expects outputs of shape (n, ..., classes), got ", output.shape());
  const Shape rows = rows_of(output.shape());
  if (rows[1] == 1) return add_of_one_class(output, target, weights);
  if (rows[0] == 0) return check_as_many("accuracy", target, output.shape());
  const Tensor scores = output.contiguous().reshape(rows);
  const Tensor labels = class_labels("accuracy", target, output.shape());
  if (!weights.defined()) return add_counts(scores, labels);
  check_weights_shape("accuracy", weights, output.shape());
  add_weights(scores, labels, weights);
}

void Accuracy::add_of_one_class(const Tensor& output, const Tensor& target, const Tensor& weights) {
  const BinaryOutcomes outcomes = count_outcomes("accuracy", output, target, weights, {});
  const double of_class_0 = outcomes.false_positives + outcomes.true_negatives;
  const double all = of_class_0 + outcomes.true_positives + outcomes.false_negatives;
  const double right = class_name_ == kCategorical ? all
                       : class_name_ == kSparse    ? of_class_0
                                                   : outcomes.exact;
  if (!weights.defined()) {
    counts_.one_class += std::llround(right);
    counts_.all += std::llround(all);
    return;
  }
  const TensorOptions scalar{.dtype = DType::f64, .backend = &output.backend()};
  add_to_sum(weighted_correct_, Tensor::full({}, right, scalar));
  add_to_sum(weights_, Tensor::full({}, all, scalar));
}

void Accuracy::add_counts(const Tensor& rows, const Tensor& labels) {
  if (!correct_.defined() || &correct_.backend() != &rows.backend())
    correct_ = Tensor::full({}, static_cast<double>(correct() - counts_.one_class),
                            {.dtype = DType::i64, .backend = &rows.backend()});
  rows.backend().count_correct(correct_, rows, labels);
  counts_.all += rows.size(0);
}

// Each position of a sample counts its weight. Classes are so few that a float knows them apart.
void Accuracy::add_weights(const Tensor& rows, const Tensor& labels, const Tensor& weights) {
  const NoGrad no_grad;
  const std::int64_t n = weights.size(0), positions = rows.size(0) / n;
  const Variable said = argmax(rows).to(weights.dtype()), meant = labels.to(weights.dtype());
  const Variable right = relu(1.0 - abs(said - meant));  // 1 or 0
  const Variable of_samples = sum(reshape(right, {n, positions}), {.axes = {1}});
  add_to_sum(weighted_correct_, sum(of_samples * weights).value());
  add_to_sum(weights_, sum(weights).value(), static_cast<double>(positions));
}

std::int64_t Accuracy::correct() const {
  return counts_.one_class + (correct_.defined() ? correct_.to_vector<std::int64_t>()[0] : 0);
}

MetricSums Accuracy::sums() const {
  return {static_cast<double>(correct()) + value_of_sum(weighted_correct_),
          static_cast<double>(counts_.all) + value_of_sum(weights_)};
}

void Accuracy::reset() {
  clear_sum(correct_);
  clear_sum(weighted_correct_);
  clear_sum(weights_);
  counts_ = {};
}

ConfigValue Accuracy::config() const {
  if (class_name_.empty()) return name_ == "accuracy" || name_ == "acc" ? name_ : ConfigValue();
  if (name_ == snake_case(class_name_)) return name_;
  return ConfigDict{{"class_name", class_name_}, {"config", ConfigDict{{"name", name_}}}};
}

}  // namespace ronde::inline v0
