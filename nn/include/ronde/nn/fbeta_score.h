/// F scores: the harmonic mean of precision and recall, (1 + beta^2) * p * r / (beta^2 * p + r), from counts
/// that are exact over batches and ranks.
#pragma once

#include <optional>

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

/// How the scores of the classes become one.
enum class ScoreAverage {
  none,     ///< `scores` has each of them; what is shown is their mean
  micro,    ///< one score of all decisions together
  macro,    ///< their mean
  weighted  ///< their mean, by how often each class is meant
};

struct FBetaOptions {
  ScoreAverage average = ScoreAverage::none;
  double beta = 1.0;  ///< recall counts beta times as much as precision
  /// Outputs above it say yes. Empty: the largest of a row does, all of them if it is there more than once.
  std::optional<double> threshold = {};
  std::string name = {};  ///< empty: Keras'
};

/// Outputs (n, k), read by the host; targets (n, k) that are not 0 mean it: one-hot or of several labels.
class RONDE_API FBetaScore : public Metric {
 public:
  using Options = FBetaOptions;
  /// A UsageError for a beta that is not positive, or a threshold that is not above 0 and at most 1.
  explicit FBetaScore(Options options = {}) : FBetaScore("FBetaScore", std::move(options)) {}
  std::string name() const override { return options_.name; }
  void expect_outputs(const Shape& outputs) override;
  void update(const Tensor& output, const Tensor& target) override { update_weighted(output, target, {}); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override;
  /// For each class the true positives, then for each those that said yes, then those that are meant.
  MetricSums sums() const override { return counts_; }
  void reset() override { counts_.assign(counts_.size(), 0.0); }
  bool sums_are_counts() const override { return true; }
  double value(const MetricSums& sums) const override;
  /// Of each class; with ScoreAverage::micro one.
  std::vector<double> scores(const MetricSums& sums) const;
  ConfigValue config() const override;
  MetricDirection direction() const override { return MetricDirection::larger; }

 protected:
  FBetaScore(const char* class_name, Options options);

 private:
  const char* class_name_;
  Options options_;
  MetricSums counts_;
};

/// FBetaScore with a beta of 1.
class RONDE_API F1Score : public FBetaScore {
 public:
  explicit F1Score(Options options = {});
};

}  // namespace ronde::inline v0
