/// Losses: one value per sample, so that every average is an exact (sum, count).
#pragma once

#include <memory>
#include <string>

#include <ronde/core/sum_over_ranks.h>
#include <ronde/core/variable.h>
#include <ronde/nn/config.h>
#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

class RONDE_API Loss {
 public:
  virtual ~Loss() = default;
  /// Keras' name: "categorical_crossentropy".
  virtual std::string name() const = 0;
  /// Keras' keys of the options that are not the defaults.
  virtual ConfigDict config() const { return {}; }
  /// Loss of each sample, (n): the mean over its positions where outputs have several, (n, ..., k). `target`
  /// is i32 class labels or a floating tensor, as the loss says. Of outputs with a mask it is asked for each
  /// step as if that were a sample (losses_of_samples).
  virtual Variable operator()(const Variable& output, const Tensor& target) const = 0;
  /// What is shown beside this loss when nobody asks for other metrics: accuracy for the crossentropies.
  virtual std::shared_ptr<Metric> default_metric() const { return nullptr; }
  /// What is always shown beside this loss: of OutputLosses, the losses of the outputs and their metrics.
  virtual std::vector<std::shared_ptr<Metric>> part_metrics() const { return {}; }
  /// Of the target of a sample with such an output, without the batch, where it is part of a row of numbers
  /// (OutputLosses), and whether what is there are class labels, to be given as i32.
  virtual Shape target_shape(const Shape& output) const { return output; }
  virtual bool takes_labels() const { return false; }
  /// As Module::is_repeatable.
  virtual bool is_repeatable() const { return false; }
};

/// What `loss` gives for a batch; a UsageError unless that is one value for each sample, (n). A mean over the
/// batch would train as well, at the n-th part of the rate. Of outputs (n, steps, ...) with a mask
/// (Variable::mask) only the steps that count: the sum of their losses, times samples / steps that count, so
/// that the mean over the samples is that over these steps, as in Keras. With `sum_over_ranks` samples and
/// steps are those of all ranks, each of which calls it, with no samples too.
RONDE_API Variable losses_of_samples(const Loss& loss, const Variable& output, const Tensor& target,
                                     const SumOverRanks& sum_over_ranks = {});

struct CrossentropyOptions {
  /// false: the outputs are probabilities. The direct result of a softmax or a sigmoid is taken back to its
  /// logits, so that neither loss nor gradient stops at a number that rounds to 0 or 1; other probabilities
  /// are divided by their sum, for class labels after and for distributions before they are clipped to
  /// [1e-7, 1 - 1e-7], as in Keras. Logits are logits to any of the losses, whichever function they went
  /// through: the binary one of a softmax's result is that of a sigmoid of the softmax's inputs, as in Keras
  /// on TensorFlow.
  bool from_logits = false;
  double label_smoothing = 0.0;  ///< so much of each target is spread over all classes; in [0, 1]
};

/// Outputs (n, ..., k); targets: class labels i32 (n, ...) or (n, ..., 1), or distributions (n, ..., k).
class RONDE_API CategoricalCrossentropy : public Loss {
 public:
  /// A UsageError for a label_smoothing outside [0, 1], as of the other two.
  explicit CategoricalCrossentropy(CrossentropyOptions options = {});
  std::string name() const override { return "categorical_crossentropy"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;
  std::shared_ptr<Metric> default_metric() const override;

 private:
  CrossentropyOptions options_;
};

/// Outputs (n, ..., k); targets: class labels i32 (n, ...) or (n, ..., 1).
class RONDE_API SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(CrossentropyOptions options = {});
  std::string name() const override { return "sparse_categorical_crossentropy"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;
  std::shared_ptr<Metric> default_metric() const override;
  Shape target_shape(const Shape& output) const override;
  bool takes_labels() const override { return true; }

 private:
  CrossentropyOptions options_;
};

/// Targets: 0 ... 1, of the output's shape (or (n, ...) for outputs (n, ..., 1)); the mean over the axes of
/// one sample.
class RONDE_API BinaryCrossentropy : public Loss {
 public:
  /// from_logits: the outputs go through a sigmoid here.
  explicit BinaryCrossentropy(CrossentropyOptions options = {});
  std::string name() const override { return "binary_crossentropy"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;
  std::shared_ptr<Metric> default_metric() const override;

 private:
  CrossentropyOptions options_;
};

/// Kullback-Leibler divergence of distributions along the last axis: sum(target * log(target / output)), both
/// clipped to [1e-7, 1]; the mean over the other axes of one sample.
class RONDE_API KLDivergence : public Loss {
 public:
  std::string name() const override { return "kl_divergence"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// The loss that Keras has under this name ("mse", "Huber", ...), with options by Keras' keys. An InputError
/// for a name that is not known, or an option that would change the result and is not.
RONDE_API std::unique_ptr<Loss> make_loss(const std::string& name, const ConfigValue& options = ConfigDict());

/// Whether the loss is of a class that `make_loss` makes: of that itself, not of one derived from it.
RONDE_API bool is_of_known_class(const Loss& loss);

}  // namespace ronde::inline v0
