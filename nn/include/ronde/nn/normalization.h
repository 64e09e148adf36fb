/// Normalization: each channel (last axis) minus its mean, divided by its deviation. What is known of the
/// data goes into the net, which then takes them as they are.
///
///     Normalization({.mean = {0.485, 0.456, 0.406}, .variance = {0.0524, 0.0502, 0.0506}})
///     Normalization()    // mean and variance are weights, for a file to fill
///     Normalization({.axis = std::nullopt})    // one mean and variance for all, Keras' axis=None
///
/// y = (x - mean) / max(sqrt(variance), 1e-7), with `invert` y = x * max(sqrt(variance), 1e-7) + mean.
/// Weights are not trained; mean starts as 0, variance as 1, and `count` is one that Keras has beside them,
/// for nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct NormalizationOptions {
  /// Of the channels: the last, as -1 or as its number; `build` refuses others. Empty: all elements are one.
  std::optional<std::int64_t> axis = -1;
  std::vector<double> mean = {};      ///< one for all channels, or one for each; empty: weights
  std::vector<double> variance = {};  ///< as many
  bool invert = false;
  std::string name = {};
};

class RONDE_API Normalization : public Module {
 public:
  /// A UsageError unless mean and variance are as many.
  explicit Normalization(NormalizationOptions options = {});
  std::string class_name() const override { return "Normalization"; }
  const NormalizationOptions& options() const { return options_; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (..., c) -> (..., c)
  Variable forward(const Variable& x, const Context& context) override;
  /// What is subtracted and divided by, of a built layer, (c), or () without an axis.
  Variable mean() const { return mean_; }
  Variable deviation() const;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  NormalizationOptions options_;
  Variable mean_, variance_;  // weights or constants
};

}  // namespace ronde::inline v0
