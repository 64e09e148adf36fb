/// Metrics of yes and no. Outputs above the threshold say yes, targets that are not 0 mean it; targets have
/// the outputs' shape, or (n, ...) for outputs (n, ..., 1). Outputs are read by the host.
#pragma once

#include <optional>

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

struct BinaryMetricOptions {
  double threshold = 0.5;  ///< of logits: 0
  std::string name = {};   ///< empty: Keras'
};

/// Of Precision and Recall. Outputs and targets (n, classes) may be looked at for one class, or for the best
/// classes of each sample only ("precision at 5"), or both.
struct PrecisionOptions {
  std::optional<double> threshold = {};  ///< of logits: 0. Empty: 0.5, but with `top_k` none
  /// If set, only the largest so many outputs along the last axis say yes, the first ones of equals.
  std::int64_t top_k = 0;
  std::optional<std::int64_t> class_id = {};  ///< if set, only this column counts
  std::string name = {};                      ///< empty: Keras'
};

/// How many outputs said yes (positives) or no, and were right (true) or wrong; sums of their weights, where
/// they have some. Any target but 0 means yes.
struct BinaryOutcomes {
  double true_positives = 0.0;
  double false_positives = 0.0;
  double true_negatives = 0.0;
  double false_negatives = 0.0;
  double exact = 0.0;  ///< of the true ones, those whose target is 1 or 0 itself
};

/// What they have in common.
class RONDE_API BinaryMetric : public Metric {
 public:
  std::string name() const override { return name_; }
  void update(const Tensor& output, const Tensor& target) override { update_weighted(output, target, {}); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override;
  void reset() override;
  bool sums_are_counts() const override { return true; }
  ConfigValue config() const override;

 protected:
  /// `class_name`: Keras', and where the name comes from.
  BinaryMetric(const char* class_name, BinaryMetricOptions options)
      : BinaryMetric(class_name,
                     PrecisionOptions{.threshold = options.threshold, .name = std::move(options.name)}) {}
  /// A UsageError for a negative top_k or class_id.
  BinaryMetric(const char* class_name, PrecisionOptions options);

  const BinaryOutcomes& outcomes() const { return outcomes_; }

 private:
  const char* class_name_;
  PrecisionOptions options_;
  std::string name_;
  BinaryOutcomes outcomes_;
};

/// Share of outputs that are right: above the threshold where the target is 1, not above where it is 0. Of
/// another target no output is.
class RONDE_API BinaryAccuracy : public BinaryMetric {
 public:
  using Options = BinaryMetricOptions;
  explicit BinaryAccuracy(Options options = {}) : BinaryMetric("BinaryAccuracy", std::move(options)) {}
  MetricSums sums() const override;
  MetricDirection direction() const override { return MetricDirection::larger; }
  bool counts_correct() const override { return true; }
};

/// Share of right ones among those that say yes.
class RONDE_API Precision : public BinaryMetric {
 public:
  using Options = PrecisionOptions;
  explicit Precision(Options options = {}) : BinaryMetric("Precision", std::move(options)) {}
  MetricSums sums() const override;
  MetricDirection direction() const override { return MetricDirection::larger; }
};

/// How many of one outcome there were.
class RONDE_API OutcomeCount : public BinaryMetric {
 public:
  using Options = BinaryMetricOptions;
  /// Those, then all that were seen.
  MetricSums sums() const override;
  double value(const MetricSums& sums) const override { return sums[0]; }

 protected:
  OutcomeCount(const char* class_name, double BinaryOutcomes::*outcome, Options options)
      : BinaryMetric(class_name, std::move(options)), outcome_(outcome) {}

 private:
  double BinaryOutcomes::*outcome_;
};

class RONDE_API TruePositives : public OutcomeCount {
 public:
  explicit TruePositives(Options options = {})
      : OutcomeCount("TruePositives", &BinaryOutcomes::true_positives, std::move(options)) {}
};

class RONDE_API FalsePositives : public OutcomeCount {
 public:
  explicit FalsePositives(Options options = {})
      : OutcomeCount("FalsePositives", &BinaryOutcomes::false_positives, std::move(options)) {}
};

class RONDE_API TrueNegatives : public OutcomeCount {
 public:
  explicit TrueNegatives(Options options = {})
      : OutcomeCount("TrueNegatives", &BinaryOutcomes::true_negatives, std::move(options)) {}
};

class RONDE_API FalseNegatives : public OutcomeCount {
 public:
  explicit FalseNegatives(Options options = {})
      : OutcomeCount("FalseNegatives", &BinaryOutcomes::false_negatives, std::move(options)) {}
};

/// Share of found ones among those that are meant.
class RONDE_API Recall : public BinaryMetric {
 public:
  using Options = PrecisionOptions;
  explicit Recall(Options options = {}) : BinaryMetric("Recall", std::move(options)) {}
  MetricSums sums() const override;
  MetricDirection direction() const override { return MetricDirection::larger; }
};

}  // namespace ronde::inline v0
