/// Area under a curve of yes and no, by counts at thresholds, as Keras has it: never further from the area
/// itself than the thresholds are coarse, and exact over batches and ranks.
#pragma once

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

enum class AucCurve {
  roc,  ///< true positive rate over false positive rate
  pr    ///< precision over recall
};

/// What stands for the curve between two thresholds.
enum class AucSummation {
  interpolation,  ///< ROC: trapezoids; PR: precision of true positives that grow evenly (Davis and Goadrich,
                  ///< 2006)
  minoring,       ///< the lower of the two
  majoring        ///< the higher of the two
};

struct AucOptions {
  int num_thresholds = 200;  ///< evenly from 0 to 1; at least 2
  AucCurve curve = AucCurve::roc;
  AucSummation summation = AucSummation::interpolation;
  std::vector<double> thresholds =
      {};                    ///< between 0 and 1; instead of evenly spaced ones, with 0 and 1 added
  bool from_logits = false;  ///< the outputs go through a sigmoid here
  bool multi_label = false;  ///< outputs (n, labels): the mean of the areas of the labels, each by its own
  std::string name = "auc";
};

/// Outputs are probabilities 0 ... 1 of yes, read by the host; targets that are not 0 mean it, and have the
/// outputs' shape, or (n, ...) for outputs (n, ..., 1). Several outputs of a sample count as several samples,
/// unless they are several labels.
class RONDE_API AUC : public Metric {
 public:
  using Options = AucOptions;
  /// A UsageError for fewer than 2 thresholds, or one that is not between 0 and 1.
  explicit AUC(Options options = {});
  std::string name() const override { return options_.name; }
  /// An Error for outputs that are not between 0 and 1; those that are not numbers say no.
  void update(const Tensor& output, const Tensor& target) override { update_weighted(output, target, {}); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override;
  /// Of those meant, how many are above each threshold and not above the next; then of the others. One label
  /// after the other.
  MetricSums sums() const override { return counts_; }
  void reset() override { counts_.assign(counts_.size(), 0.0); }
  void expect_outputs(const Shape& outputs) override;
  bool sums_are_counts() const override { return true; }
  double value(const MetricSums& sums) const override;
  ConfigValue config() const override;
  MetricDirection direction() const override { return MetricDirection::larger; }

 private:
  std::size_t bucket_of(double output) const;
  double area(const MetricSums& sums) const;

  Options options_;
  std::vector<float> thresholds_;  // sorted, without the lowest, which all outputs are above
  MetricSums counts_;
};

}  // namespace ronde::inline v0
