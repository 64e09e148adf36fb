/// LayerScale: each channel (the last axis) times a weight of its own, which starts close to zero, so that a
/// block which ends with it adds next to nothing to its shortcut at first.
///
///     y = net.add(LayerScale(), branch);               // in a block of a Graph
///     x = net.add(Add(), {x, y});
///
/// y = x * gamma. The class of keras.applications' ConvNeXt: Keras opens a `.keras` with it as it is, an
/// `.h5` only with `custom_objects`. Source: Touvron et al., "Going deeper with image transformers", 2021.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct LayerScaleOptions {
  double init_values = 1e-6;        ///< all of gamma, at first
  std::int64_t projection_dim = 0;  ///< channels of the input; 0: what `build` finds
  std::string name = {};
};

class RONDE_API LayerScale : public Module {
 public:
  explicit LayerScale(LayerScaleOptions options = {});
  std::string class_name() const override { return "LayerScale"; }
  const LayerScaleOptions& options() const { return options_; }
  ConfigDict config() const override;
  /// (..., c) -> (..., c)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  LayerScaleOptions options_;
  Variable gamma_;  // (c)
};

}  // namespace ronde::inline v0
