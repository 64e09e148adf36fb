/// Share of samples, or of their positions, whose label is among the k largest outputs.
#pragma once

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

struct TopKOptions {
  int k = 5;              ///< positive
  std::string name = {};  ///< shown; empty: Keras' for the class
};

/// Outputs (n, ..., classes), read by the host; targets: i32 labels (n, ...) or (n, ..., 1), or one-hot like
/// the outputs. Ties count as found.
class RONDE_API TopKCategoricalAccuracy : public Metric {
 public:
  using Options = TopKOptions;
  /// A UsageError for a k that is not positive.
  explicit TopKCategoricalAccuracy(Options options = {});
  std::string name() const override { return shown_or("top_k_categorical_accuracy"); }
  void update(const Tensor& output, const Tensor& target) override { update_weighted(output, target, {}); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override;
  MetricSums sums() const override;
  void reset() override { found_ = count_ = 0.0; }
  bool counts_correct() const override { return true; }
  ConfigValue config() const override { return described("TopKCategoricalAccuracy"); }
  MetricDirection direction() const override { return MetricDirection::larger; }

 protected:
  ConfigValue described(const char* class_name) const;
  std::string shown_or(const char* name) const { return options_.name.empty() ? name : options_.name; }

 private:
  Options options_;
  double found_ = 0.0;
  double count_ = 0.0;
};

/// The same; Keras has a class for each kind of targets, and a file that it opens names the right one.
class RONDE_API SparseTopKCategoricalAccuracy : public TopKCategoricalAccuracy {
 public:
  using TopKCategoricalAccuracy::TopKCategoricalAccuracy;
  std::string name() const override { return shown_or("sparse_top_k_categorical_accuracy"); }
  ConfigValue config() const override { return described("SparseTopKCategoricalAccuracy"); }
};

}  // namespace ronde::inline v0
