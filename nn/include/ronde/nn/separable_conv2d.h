/// SeparableConv2D: each input channel is convolved with `depth_multiplier` kernels of its own, and a 1x1
/// convolution with bias and activation mixes what comes out.
///
/// The first kernel is DepthwiseConv2D's, "depthwise_kernel"; the second, "pointwise_kernel", is (filters, 1,
/// 1, c * multiplier) in memory, (1, 1, c * multiplier, filters) in Keras' files. relu is computed by the
/// convolution itself.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct SeparableConv2DOptions {
  std::int64_t filters = 0;
  Size2d kernel{3, 3};
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
  std::int64_t depth_multiplier = 1;
  Size2d dilation{1, 1};
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer depthwise_initializer = Initializer::glorot_uniform;
  Initializer pointwise_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API SeparableConv2D : public Module {
 public:
  explicit SeparableConv2D(SeparableConv2DOptions options);
  std::string class_name() const override { return "SeparableConv2D"; }
  ConfigDict config() const override;
  /// (n, h, w, c) -> (n, oh, ow, filters)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  SeparableConv2DOptions options_;
  Variable depthwise_, pointwise_, bias_;
};

}  // namespace ronde::inline v0
