/// LayerNormalization: each sample, or each pixel or step of it, to mean 0 and variance 1 over its last axes,
/// then times gamma plus beta.
///
///     LayerNormalization()                        // (n, ..., c): over the channels
///     LayerNormalization({.axes = {1, 2, 3}})     // (n, h, w, c): over the whole image
///
/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the biased variance. In bf16 it computes in
/// f32. Keras 3 forgets several axes of an .h5, its own too: such a net is one for .keras. Source: Ba et al.,
/// "Layer normalization", 2016.
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/initializer.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct LayerNormalizationOptions {
  std::vector<std::int64_t> axes = {-1};  ///< the last ones, in their order; `build` refuses others
  double epsilon = 1e-3;
  bool center = true;  ///< has beta
  bool scale = true;   ///< has gamma
  Initializer beta_initializer = Initializer::zeros;
  Initializer gamma_initializer = Initializer::ones;
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = {};
};

class RONDE_API LayerNormalization : public Module {
 public:
  explicit LayerNormalization(LayerNormalizationOptions options = {});
  std::string class_name() const override { return "LayerNormalization"; }
  const LayerNormalizationOptions& options() const { return options_; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (..., c) -> (..., c)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  LayerNormalizationOptions options_;
  Shape features_;         // extents of the axes
  Variable gamma_, beta_;  // (features...); undefined when not wanted
};

}  // namespace ronde::inline v0
