/// Losses for targets that are numbers. Targets have the outputs' shape, or (n, ...) for outputs (n, ..., 1);
/// the loss of a sample is the mean over its axes. e is output - target. Formulas are Keras'.
#pragma once

#include <ronde/nn/loss.h>

namespace ronde::inline v0 {

/// mean(e^2)
class RONDE_API MeanSquaredError : public Loss {
 public:
  std::string name() const override { return "mean_squared_error"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// mean(|e|)
class RONDE_API MeanAbsoluteError : public Loss {
 public:
  std::string name() const override { return "mean_absolute_error"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// 100 mean(|e| / max(|target|, 1e-7))
class RONDE_API MeanAbsolutePercentageError : public Loss {
 public:
  std::string name() const override { return "mean_absolute_percentage_error"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// mean((log(1 + output) - log(1 + target))^2), outputs and targets at least 1e-7
class RONDE_API MeanSquaredLogarithmicError : public Loss {
 public:
  std::string name() const override { return "mean_squared_logarithmic_error"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// mean(e^2 / 2) up to |e| = delta, straight beyond: delta (|e| - delta / 2)
class RONDE_API Huber : public Loss {
 public:
  struct Options {
    double delta = 1.0;  ///< positive and finite
  };
  Huber() = default;
  /// A UsageError for another delta.
  explicit Huber(Options options);
  std::string name() const override { return "huber"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;

 private:
  double delta_ = 1.0;
};

/// mean(log(cosh(e)))
class RONDE_API LogCosh : public Loss {
 public:
  std::string name() const override { return "log_cosh"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// mean(output - target log(output + 1e-7)): targets are counts, outputs their expected values
class RONDE_API Poisson : public Loss {
 public:
  std::string name() const override { return "poisson"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// Minus the cosine of the angle between output and target along the last axis, -1 ... 1
class RONDE_API CosineSimilarity : public Loss {
 public:
  std::string name() const override { return "cosine_similarity"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

}  // namespace ronde::inline v0
