/// RMSNormalization: each sample, or each pixel or step of it, divided by the root of the mean square of its
/// channels (the last axis), then times a weight for each channel.
///
///     RMSNormalization()    // (n, ..., c), in place of a LayerNormalization
///
/// y = x / sqrt(mean(x^2) + epsilon) * scale. In bf16 it computes in f32. It drops masks, as in Keras, which
/// has had the class since 3.9: no Keras 2 opens a net with it. Source: Zhang and Sennrich, "Root mean square
/// layer normalization", 2019.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct RMSNormalizationOptions {
  std::int64_t axis = -1;  ///< the last, as -1 or as its number; `build` refuses others
  double epsilon = 1e-6;
  std::string name = {};
};

class RONDE_API RMSNormalization : public Module {
 public:
  explicit RMSNormalization(RMSNormalizationOptions options = {});
  std::string class_name() const override { return "RMSNormalization"; }
  const RMSNormalizationOptions& options() const { return options_; }
  ConfigDict config() const override;
  /// (..., c) -> (..., c)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  RMSNormalizationOptions options_;
  Variable scale_;  // (c)
};

}  // namespace ronde::inline v0
