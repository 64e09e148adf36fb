#include <cmath>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/binary_metrics.h>
#include <ronde/nn/loss.h>

#include "loss_operands.h"

namespace ronde::inline v0 {

namespace {

/// Outputs (n, k) and labels i32 (n) in [0, k).
void check_labels(const std::string& loss, const Shape& output, const Tensor& labels) {
  require(labels.shape() == Shape{output[0]}, "[", loss, "] expects labels of shape (", output[0], "), got ",
          labels.shape());
  // A device checks them itself, so that the host need not wait for it.
  if (labels.backend().device().type != DeviceType::cpu) return;
  const std::vector<std::int32_t> values = labels.to_vector<std::int32_t>();
  for (std::size_t row = 0; row < values.size(); ++row)
    require(values[row] >= 0 && values[row] < output[1], "[", loss, "] label ", values[row], " of row ", row,
            " is not in [0, ", output[1], ")");
}

void check_output(const std::string& loss, const Variable& output) {
  require(output.rank() == 2, "[", loss, "] expects outputs of shape (n, classes), got ", output.shape());
}

ConfigDict config_of(const CrossentropyOptions& options) {
  ConfigDict config;
  if (options.from_logits) config.emplace_back("from_logits", true);
  if (options.label_smoothing != 0.0) config.emplace_back("label_smoothing", options.label_smoothing);
  return config;
}

/// What the probabilities were made of, when that is known. As in Keras on TensorFlow it does not matter
/// which of the two functions made them: of any, these are the logits.
Variable logits_of(const Variable& output, const CrossentropyOptions& options) {
  if (options.from_logits) return output;
  const Variable of_softmax = softmax_input(output);
  return of_softmax.defined() ? of_softmax : sigmoid_input(output);
}

/// (n, k) with a 1 at each label.
Tensor one_hot(const Tensor& labels, std::int64_t k, const Tensor& like) {
  const std::vector<std::int32_t> values = labels.to_vector<std::int32_t>();
  std::vector<double> rows(values.size() * static_cast<std::size_t>(k), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i)
    rows[i * static_cast<std::size_t>(k) + static_cast<std::size_t>(values[i])] = 1.0;
  return Tensor::from<double>({labels.size(0), k}, rows, &like.backend()).to(like.dtype());
}

Variable smooth(const Variable& target, double smoothing) {
  if (smoothing == 0.0) return target;
  return target * (1.0 - smoothing) + smoothing / static_cast<double>(target.shape().back());
}

/// Keras' path for outputs whose logits are not known: normalise, clip, -sum(target * log p).
Variable clipped_cross_entropy(const Variable& output, const Variable& target) {
  const Variable p = output / sum(output, {.axes = {-1}, .keep_dims = true});
  return -sum(target * log(clamp(p, kLossEpsilon, 1.0 - kLossEpsilon)), {.axes = {-1}});
}

Variable cross_entropy_of_labels(const std::string& loss, const Variable& output, const Tensor& labels,
                                 const CrossentropyOptions& options) {
  check_labels(loss, output.shape(), labels);
  const Variable logits = logits_of(output, options);
  if (logits.defined()) return softmax_cross_entropy(logits, labels, options.label_smoothing);
  const Variable p = precise(output);
  return clipped_cross_entropy(p, smooth(one_hot(labels, p.size(1), p.value()), options.label_smoothing));
}

}  // namespace

ConfigDict CategoricalCrossentropy::config() const {
  return config_of(options_);
}

Variable CategoricalCrossentropy::operator()(const Variable& output, const Tensor& target) const {
  check_output(name(), output);
  if (target.dtype() == DType::i32 && target.rank() == 1)
    return cross_entropy_of_labels(name(), output, target, options_);
  require(target.shape() == output.shape(), "[", name(), "] expects targets of shape ", output.shape(),
          " or class labels i32 (", output.size(0), "), got ", target);
  const Variable p = precise(output);
  const Variable distribution = smooth(target.to(p.dtype()), options_.label_smoothing);
  const Variable logits = logits_of(output, options_);
  return logits.defined() ? softmax_cross_entropy_soft(precise(logits), distribution)
                          : clipped_cross_entropy(p, distribution);
}

ConfigDict SparseCategoricalCrossentropy::config() const {
  return config_of(options_);
}

Variable SparseCategoricalCrossentropy::operator()(const Variable& output, const Tensor& target) const {
  check_output(name(), output);
  require(target.dtype() == DType::i32, "[", name(), "] expects class labels i32, got ", target);
  return cross_entropy_of_labels(name(), output, target, options_);
}

ConfigDict BinaryCrossentropy::config() const {
  return config_of(options_);
}

Variable BinaryCrossentropy::operator()(const Variable& output, const Tensor& target) const {
  const Variable logits = logits_of(output, options_);
  const auto [x, hard] = loss_operands(name(), logits.defined() ? logits : output, target);
  // Two classes share what is spread.
  const double smoothing = options_.label_smoothing;
  const Variable t = smoothing == 0.0 ? hard : hard * (1.0 - smoothing) + 0.5 * smoothing;
  if (logits.defined()) return mean_of_samples(relu(x) - x * t + log(1.0 + exp(-abs(x))));
  const Variable p = clamp(x, kLossEpsilon, 1.0 - kLossEpsilon);
  return mean_of_samples(-(t * log(p) + (1.0 - t) * log(1.0 - p)));
}

Variable KLDivergence::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  require(x.rank() >= 2, "[", name(), "] expects outputs of shape (n, k), got ", x.shape());
  const Variable p = clamp(t, kLossEpsilon, 1.0), q = clamp(x, kLossEpsilon, 1.0);
  return mean_of_samples(sum(p * log(p / q), {.axes = {-1}}));
}

std::shared_ptr<Metric> CategoricalCrossentropy::default_metric() const {
  return std::make_shared<Accuracy>();
}

std::shared_ptr<Metric> SparseCategoricalCrossentropy::default_metric() const {
  return std::make_shared<Accuracy>();
}

// A logit of 0 is a probability of 0.5.
std::shared_ptr<Metric> BinaryCrossentropy::default_metric() const {
  return std::make_shared<BinaryAccuracy>(
      BinaryAccuracy::Options{.threshold = options_.from_logits ? 0.0 : 0.5, .name = "accuracy"});
}

}  // namespace ronde::inline v0
