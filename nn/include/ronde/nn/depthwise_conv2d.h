/// DepthwiseConv2D: each input channel is convolved with `depth_multiplier` kernels of its own.
///
/// Output channel c * depth_multiplier + m comes from input channel c. Kernel: (c * multiplier, kh, kw, 1) in
/// memory, (kh, kw, c, multiplier) in Keras' files.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct DepthwiseConv2DOptions {
  Size2d kernel{3, 3};
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
  std::int64_t depth_multiplier = 1;
  Size2d dilation{1, 1};
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer depthwise_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API DepthwiseConv2D : public Module {
 public:
  explicit DepthwiseConv2D(DepthwiseConv2DOptions options = {});
  std::string class_name() const override { return "DepthwiseConv2D"; }
  ConfigDict config() const override;
  /// (n, h, w, c) -> (n, oh, ow, c * depth_multiplier)
  Variable forward(const Variable& x, const Context& context) override;
  /// The same of images with margins of zeros around them.
  Variable convolve(const Variable& x, const Margins2d& margins = {}) const;
  /// The weights as built, and what the operation conv2d computes with them: all of the layer if its
  /// activation is relu or none, else all but that.
  Conv2dCall call() const;
  const DepthwiseConv2DOptions& options() const { return options_; }

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  DepthwiseConv2DOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
