#include "state/loss_weights.h"

#include <algorithm>
#include <cmath>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>

namespace ronde::inline v0 {

namespace {

/// The class of each sample, i32 (n), as Keras finds it: its label, the nearer of 0 and 1 to its share of
/// class 1, or the largest of its targets.
Tensor classes_of(const Tensor& targets, std::int64_t n, DType dtype) {
  if (targets.count() != n) return argmax(targets.to(dtype)).to(DType::i32);
  const Tensor labels = targets.reshape({n});
  return (is_floating(labels.dtype()) ? (Variable(labels.to(dtype)) + 0.5).value() : labels).to(DType::i32);
}

/// Of the class of each sample, (n).
Variable by_class(const Tensor& of_classes, const Tensor& targets, const Shape& outputs) {
  const std::int64_t classes = outputs.rank() == 2 ? std::max<std::int64_t>(outputs[1], 2) : 0;
  require<UsageError>(of_classes.size(0) == classes, "[fit] class_weight: ", of_classes.size(0),
                      " weights for outputs ", outputs);
  const std::int64_t n = outputs[0];
  return reshape(embedding(of_classes, classes_of(targets, n, of_classes.dtype())), {n});
}

/// Of each sample, (n).
Variable by_sample(const Tensor& of_samples, const Tensor& sample_keys) {
  const std::int64_t n = sample_keys.size(0);
  return reshape(embedding(of_samples, sample_keys.slice(1, 0, 1).to(DType::i32).reshape({n})), {n});
}

}  // namespace

void check_weights(const std::string& what, const std::vector<double>& weights) {
  for (const double weight : weights)
    require<UsageError>(weight >= 0.0 && std::isfinite(weight), what,
                        " must be finite and not negative, got ", weight);
}

void check_sample_weights(const std::string& what, const std::vector<double>& weights, std::int64_t samples) {
  const auto count = static_cast<std::int64_t>(weights.size());
  require<UsageError>(count == 0 || count == samples, what, ": ", counted(count, "weight"), " for ",
                      counted(samples, "sample"));
  check_weights(what, weights);
}

Tensor weight_table(const std::vector<double>& weights, const TensorOptions& options) {
  if (weights.empty()) return {};
  return Tensor::from<double>({static_cast<std::int64_t>(weights.size()), 1}, weights)
      .to(*options.backend)
      .to(options.dtype);
}

Tensor weights_of_samples(const LossWeights& weights, const Shape& outputs, const Tensor& targets,
                          const Tensor& sample_keys) {
  const NoGrad no_grad;
  Variable product;
  if (weights.of_classes.defined()) product = by_class(weights.of_classes, targets, outputs);
  if (!weights.of_samples.defined()) return product.defined() ? product.value() : Tensor();
  const Variable own = by_sample(weights.of_samples, sample_keys);
  return product.defined() ? (product * own).value() : own.value();
}

Variable weighted_sum(const Variable& losses, const Tensor& weights) {
  return sum(weights.defined() ? losses * weights : losses);
}

}  // namespace ronde::inline v0
