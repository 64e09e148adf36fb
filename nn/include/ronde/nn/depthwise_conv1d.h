/// DepthwiseConv1D: each channel of sequences (n, steps, c) is convolved with `depth_multiplier` kernels of
/// its own.
///
/// Output channel c * depth_multiplier + m comes from input channel c. Kernel: (c * multiplier, 1, k, 1) in
/// memory, (k, c, multiplier) in Keras' files. It is the convolution of images of one row; relu is computed
/// by the convolution itself. Its padding is no Padding1D, as no Keras pads it causally.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct DepthwiseConv1DOptions {
  std::int64_t kernel = 3;
  std::int64_t strides = 1;
  Padding padding = Padding::valid;
  std::int64_t depth_multiplier = 1;
  std::int64_t dilation = 1;
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer depthwise_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API DepthwiseConv1D : public Module {
 public:
  explicit DepthwiseConv1D(DepthwiseConv1DOptions options = {});
  std::string class_name() const override { return "DepthwiseConv1D"; }
  ConfigDict config() const override;
  /// (n, steps, c) -> (n, steps out, c * depth_multiplier)
  Variable forward(const Variable& x, const Context& context) override;
  const DepthwiseConv1DOptions& options() const { return options_; }

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  DepthwiseConv1DOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
