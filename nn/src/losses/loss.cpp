#include <cmath>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/binary_metrics.h>
#include <ronde/nn/loss.h>

#include "losses/loss_operands.h"
#include "losses/masked_losses.h"
#include "losses/targets.h"

namespace ronde::inline v0 {

namespace {

/// The labels, each in [0, classes).
std::vector<std::int32_t> checked_labels(const std::string& loss, const Tensor& labels,
                                         std::int64_t classes) {
  std::vector<std::int32_t> values = labels.to_vector<std::int32_t>();
  for (std::size_t row = 0; row < values.size(); ++row)
    require(values[row] >= 0 && values[row] < classes, "[", loss, "] label ", values[row], " of row ", row,
            " is not in [0, ", classes, ")");
  return values;
}

void check_output(const std::string& loss, const Variable& output) {
  require(output.rank() >= 2, "[", loss, "] expects outputs of shape (n, ..., classes), got ",
          output.shape());
}

CrossentropyOptions checked(const CrossentropyOptions& options) {
  const double smoothing = options.label_smoothing;
  require<UsageError>(smoothing >= 0.0 && smoothing <= 1.0,
                      "[crossentropy] label_smoothing must be in [0, 1], got ", smoothing);
  return options;
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

/// (rows, k), one for each position of each sample.
Variable in_rows(const Variable& x) {
  return x.rank() == 2 ? x : reshape(x, rows_of(x.shape()));
}

/// The loss of each sample of the losses of its positions, (rows).
Variable of_samples(const Variable& losses, const Shape& outputs) {
  return outputs.rank() == 2 ? losses : mean_of_samples(reshape(losses, positions_of(outputs)));
}

/// (n, k) with a 1 at each label.
Tensor one_hot(const std::vector<std::int32_t>& values, std::int64_t k, const Tensor& like) {
  std::vector<double> rows(values.size() * static_cast<std::size_t>(k), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i)
    rows[i * static_cast<std::size_t>(k) + static_cast<std::size_t>(values[i])] = 1.0;
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from<double>({count, k}, rows, &like.backend()).to(like.dtype());
}

Variable smooth(const Variable& target, double smoothing) {
  if (smoothing == 0.0) return target;
  return target * (1.0 - smoothing) + smoothing / static_cast<double>(target.shape().back());
}

/// Keras' path to targets that are distributions where the logits are not known: normalise, clip,
/// -sum(target * log p).
Variable clipped_cross_entropy(const Variable& output, const Variable& target) {
  const Variable p = output / sum(output, {.axes = {-1}, .keep_dims = true});
  return -sum(target * log(clamp(p, kLossEpsilon, 1.0 - kLossEpsilon)), {.axes = {-1}});
}

/// Of class labels; `logits` are undefined where the outputs' are not known.
Variable cross_entropy_of_labels(const std::string& loss, const Variable& output, const Variable& logits,
                                 const Tensor& target, double smoothing) {
  require(may_be_labels(target.shape(), output.shape()), "[", loss, "] expects labels of shape ",
          positions_of(output.shape()), ", got ", target.shape());
  const std::int64_t classes = output.shape().back();
  const Tensor labels = target.contiguous().reshape({rows_of(output.shape())[0]});
  if (logits.defined()) {
    // A device's kernel checks them itself, so that the host need not wait for it.
    if (labels.backend().device().type == DeviceType::cpu) checked_labels(loss, labels, classes);
    return of_samples(softmax_cross_entropy(in_rows(logits), labels, smoothing), output.shape());
  }
  const Variable p = in_rows(precise(output));
  const Tensor distribution = one_hot(checked_labels(loss, labels, classes), classes, p.value());
  return of_samples(clipped_cross_entropy(p, smooth(distribution, smoothing)), output.shape());
}

}  // namespace

CategoricalCrossentropy::CategoricalCrossentropy(CrossentropyOptions options) : options_(checked(options)) {}

ConfigDict CategoricalCrossentropy::config() const {
  return config_of(options_);
}

Variable CategoricalCrossentropy::operator()(const Variable& output, const Tensor& target) const {
  check_output(name(), output);
  const Variable logits = logits_of(output, options_);
  const bool is_distribution = target.shape() == output.shape();
  if (!is_distribution && target.dtype() == DType::i32 && may_be_labels(target.shape(), output.shape()))
    return cross_entropy_of_labels(name(), output, logits, target, options_.label_smoothing);
  require(is_distribution, "[", name(), "] expects targets of shape ", output.shape(),
          " or class labels i32 ", positions_of(output.shape()), ", got ", target);
  const Variable p = precise(output);
  const Variable distribution = in_rows(smooth(target.to(p.dtype()), options_.label_smoothing));
  return of_samples(logits.defined() ? softmax_cross_entropy_soft(in_rows(precise(logits)), distribution)
                                     : clipped_cross_entropy(in_rows(p), distribution),
                    output.shape());
}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(CrossentropyOptions options)
    : options_(checked(options)) {}

ConfigDict SparseCategoricalCrossentropy::config() const {
  return config_of(options_);
}

Variable SparseCategoricalCrossentropy::operator()(const Variable& output, const Tensor& target) const {
  check_output(name(), output);
  require(target.dtype() == DType::i32, "[", name(), "] expects class labels i32, got ", target);
  // Of an unknown origin, probabilities are clipped as they are, and divided by their sum only then.
  Variable logits = logits_of(output, options_);
  if (!logits.defined()) logits = log(clamp(precise(output), kLossEpsilon, 1.0 - kLossEpsilon));
  return cross_entropy_of_labels(name(), output, logits, target, options_.label_smoothing);
}

BinaryCrossentropy::BinaryCrossentropy(CrossentropyOptions options) : options_(checked(options)) {}

ConfigDict BinaryCrossentropy::config() const {
  return config_of(options_);
}

Variable BinaryCrossentropy::operator()(const Variable& output, const Tensor& target) const {
  const Variable logits = logits_of(output, options_);
  const auto [x, hard] = loss_operands(name(), logits.defined() ? logits : output, target);
  // Two classes share what is spread.
  const double smoothing = options_.label_smoothing;
  const Variable t = smoothing == 0.0 ? hard : hard * (1.0 - smoothing) + 0.5 * smoothing;
  // Of functions that are smooth at 0, and without differences of large numbers.
  if (logits.defined()) return mean_of_samples(t * softplus(-x) + (1.0 - t) * softplus(x));
  const Variable p = clamp(x, kLossEpsilon, 1.0 - kLossEpsilon);
  return mean_of_samples(-(t * log(p) + (1.0 - t) * log(1.0 - p)));
}

Variable KLDivergence::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  require(x.rank() >= 2, "[", name(), "] expects outputs of shape (n, k), got ", x.shape());
  const Variable p = clamp(t, kLossEpsilon, 1.0), q = clamp(x, kLossEpsilon, 1.0);
  return mean_of_samples(sum(p * log(p / q), {.axes = {-1}}));
}

Variable losses_of_samples(const Loss& loss, const Variable& output, const Tensor& target,
                           const SumOverRanks& sum_over_ranks) {
  if (output.mask().defined()) return losses_of_masked(loss, output, target, sum_over_ranks);
  Variable losses = loss(output, target);
  const Shape each{output.size(0)};
  require<UsageError>(losses.defined() && losses.shape() == each, "[", loss.name(),
                      "] a loss gives one value for each sample, ", each, ", got ",
                      losses.defined() ? to_string(losses.shape()) : "an undefined variable");
  return losses;
}

std::shared_ptr<Metric> CategoricalCrossentropy::default_metric() const {
  return std::make_shared<Accuracy>();
}

std::shared_ptr<Metric> SparseCategoricalCrossentropy::default_metric() const {
  return std::make_shared<Accuracy>();
}

Shape SparseCategoricalCrossentropy::target_shape(const Shape& output) const {
  Shape positions;
  for (int axis = 0; axis + 1 < output.rank(); ++axis) positions.push_back(output[axis]);
  return positions;
}

// A logit of 0 is a probability of 0.5.
std::shared_ptr<Metric> BinaryCrossentropy::default_metric() const {
  return std::make_shared<BinaryAccuracy>(
      BinaryAccuracy::Options{.threshold = options_.from_logits ? 0.0 : 0.5, .name = "accuracy"});
}

}  // namespace ronde::inline v0
