/// Metrics: sums that stay on the device until somebody asks. Those over all ranks are exact.
///
/// Of one's own: derive from Metric, add up in `update`; `value` says what the sums mean, and `direction`
/// which values are the better ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/nn/config.h>

namespace ronde::inline v0 {

/// What a metric has seen: numbers that add up over batches and ranks, exactly as long as they are whole and
/// below 2^53. Most are a sum and how many values it has.
using MetricSums = std::vector<double>;

/// Which values of a metric are the better ones.
enum class MetricDirection { unknown, larger, smaller };

class RONDE_API Metric {
 public:
  virtual ~Metric() = default;
  /// "accuracy"
  virtual std::string name() const = 0;
  /// Told before the first `update` what shape the outputs of a sample have, for a metric whose number of
  /// sums depends on it: ranks without samples have as many. A model does so when it is compiled.
  virtual void expect_outputs(const Shape& outputs) { static_cast<void>(outputs); }
  /// Adds a batch of outputs (n, ...) and targets.
  virtual void update(const Tensor& output, const Tensor& target) = 0;
  /// The same where each sample counts as often as its weight says, which may be a fraction: `weights` (n),
  /// floating and not negative, on the outputs' device; undefined: each counts once. Asked of a model's
  /// `weighted_metrics` and, each step a row that counts or not, of all where the outputs have a mask. A
  /// metric that does not override it refuses weights: a UsageError.
  virtual void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights);
  /// Always as many after `expect_outputs`, zero at first. Waits for the device.
  virtual MetricSums sums() const = 0;
  virtual void reset() = 0;
  /// Of the sums over all batches and ranks: the mean of {sum, count} (0 of nothing), unless the metric is
  /// something else. A UsageError where there are not two.
  virtual double value(const MetricSums& sums) const;
  /// Of what it has seen here.
  double result() const { return value(sums()); }
  /// Whether the first of `sums()` counts right answers and the second all of them.
  virtual bool counts_correct() const { return false; }
  /// Whether all sums are whole numbers: they add up alike in any order, so that an evaluation need not keep
  /// those of each batch for a result that does not depend on the number of ranks.
  virtual bool sums_are_counts() const { return counts_correct(); }
  /// As Keras describes it in a file: its name, or its class with options; null: not written, as Keras has
  /// none like it.
  virtual ConfigValue config() const { return {}; }
  /// Asked by callbacks that look for the best epoch. While it is unknown they must be told.
  virtual MetricDirection direction() const { return MetricDirection::unknown; }
};

/// Share of samples whose largest output is at the label; targets i32 (n), (n, 1) or one-hot (n, k). Of
/// outputs (n, ..., k) each position counts: targets i32 (n, ...), (n, ..., 1) or one-hot (n, ..., k).
/// Outputs (n, ..., 1) are as in Keras right where they are above 0.5 and the target is 1, or are not and it
/// is 0; to "sparse_categorical_accuracy" where the target is the one class there is, 0; and to
/// "categorical_accuracy" always.
class RONDE_API Accuracy : public Metric {
 public:
  /// `class_name`: Keras' class, for files, where the name is one's own; a model knows it by its loss, too.
  /// "CategoricalAccuracy" and "SparseCategoricalAccuracy" tell what outputs (n, ..., 1) mean, too.
  explicit Accuracy(std::string name = "accuracy", std::string class_name = {});
  std::string name() const override { return name_; }
  void update(const Tensor& output, const Tensor& target) override { update_weighted(output, target, {}); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override;
  MetricSums sums() const override;
  void reset() override;
  bool counts_correct() const override { return true; }
  ConfigValue config() const override;
  MetricDirection direction() const override { return MetricDirection::larger; }
  /// Number of samples, or of their positions, that were right, of those without weights; waits for the
  /// device.
  std::int64_t correct() const;

  /// What the host has counted by itself, to be had without waiting for a device.
  struct HostCounts {
    std::int64_t one_class = 0;  ///< right answers, of outputs (n, 1)
    std::int64_t all = 0;
  };
  const HostCounts& host_counts() const { return counts_; }
  /// Goes back to earlier ones: the device has left out what came behind them.
  void return_to(const HostCounts& counts) { counts_ = counts; }

 private:
  void add_of_one_class(const Tensor& output, const Tensor& target, const Tensor& weights);
  void add_counts(const Tensor& rows, const Tensor& labels);
  void add_weights(const Tensor& rows, const Tensor& labels, const Tensor& weights);

  std::string name_, class_name_;
  Tensor correct_;  // i64 scalar; outputs (n, 1) are not in it
  HostCounts counts_;
  Tensor weighted_correct_, weights_;  // f64 scalars: of what had weights
};

/// The metric that Keras has under this name ("accuracy", "mae", "Precision", ...), with options by Keras'
/// keys. An InputError for a name that is not known, or an option that would change the result and is not.
RONDE_API std::shared_ptr<Metric> make_metric(const std::string& name,
                                              const ConfigValue& options = ConfigDict());

}  // namespace ronde::inline v0
