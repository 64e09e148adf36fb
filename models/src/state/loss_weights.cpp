#include "state/loss_weights.h"

#include <cmath>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/graph.h>

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kMostClasses = 1 << 22;  // which a float knows apart, halves too

void check_weight(const std::string& what, double weight) {
  require<UsageError>(weight >= 0.0 && std::isfinite(weight), what, " must be finite and not negative, got ",
                      weight);
}

/// To whole numbers, the even one of two that are as near: there are no others from here up to twice this.
Variable rounded(const Variable& x) {
  const double whole = x.value().dtype() == DType::f64 ? 0x1.8p52 : 0x1.8p23;
  return (x + whole) - whole;
}

/// The class of each sample (n), as Keras finds it: its label, the whole number nearest to its target, or the
/// largest of its targets. Of `dtype`, which knows all classes apart.
Variable classes_of(const Tensor& targets, std::int64_t n, DType dtype) {
  if (targets.count() != n) return argmax(targets.to(dtype)).to(dtype);
  const Tensor labels = targets.reshape({n});
  return is_floating(labels.dtype()) ? rounded(labels.to(dtype)) : Variable(labels.to(dtype));
}

/// Of the class of each sample, (n).
Variable by_class(const Tensor& table, const Tensor& targets, std::int64_t n) {
  const Variable rows = classes_of(targets, n, table.dtype()) + 1.0;
  const Variable named = clamp(rows, 0.0, static_cast<double>(table.size(0) - 1));
  return reshape(embedding(table, named.value().to(DType::i32)), {n});
}

/// Of each sample, (n).
Variable by_sample(const Tensor& of_samples, const Tensor& sample_keys) {
  const std::int64_t n = sample_keys.size(0);
  return reshape(embedding(of_samples, sample_keys.slice(1, 0, 1).to(DType::i32).reshape({n})), {n});
}

}  // namespace

void check_class_weights(const std::string& what, const ClassWeights& weights, const Module& net) {
  const Shape outputs = net.output_shape().tail(1);
  require<UsageError>(weights.empty() || several_outputs(net).empty(), what,
                      " is of a net with one output; with several, give sample_weight");
  require<UsageError>(weights.empty() || outputs.rank() == 1, what, " goes with outputs (n, classes), not ",
                      outputs, " for each sample");
  for (const auto& [which, weight] : weights.by_class()) {
    require<UsageError>(which >= 0 && which < (outputs[0] == 1 ? kMostClasses : outputs[0]), what,
                        ": there is no class ", which, " of ", counted(outputs[0], "output"));
    check_weight(what, weight);
  }
}

void check_sample_weights(const std::string& what, const std::vector<double>& weights, std::int64_t samples) {
  const auto count = static_cast<std::int64_t>(weights.size());
  require<UsageError>(count == 0 || count == samples, what, ": ", counted(count, "weight"), " for ",
                      counted(samples, "sample"));
  for (const double weight : weights) check_weight(what, weight);
}

Tensor class_table(const ClassWeights& weights, const TensorOptions& options) {
  if (weights.empty()) return {};
  std::vector<double> rows(static_cast<std::size_t>(weights.by_class().rbegin()->first) + 3, 1.0);
  for (const auto& [which, weight] : weights.by_class()) rows[static_cast<std::size_t>(which) + 1] = weight;
  return weight_table(rows, options);
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
  const auto multiply = [&](const Variable& factors) {
    product = product.defined() ? product * factors : factors;
  };
  if (weights.of_batch.defined()) multiply(reshape(weights.of_batch, {outputs[0]}));
  if (weights.of_classes.defined()) multiply(by_class(weights.of_classes, targets, outputs[0]));
  if (weights.of_samples.defined()) multiply(by_sample(weights.of_samples, sample_keys));
  return product.defined() ? product.value() : Tensor();
}

Variable weighted_sum(const Variable& losses, const Tensor& weights) {
  return sum(weights.defined() ? losses * weights : losses);
}

}  // namespace ronde::inline v0
