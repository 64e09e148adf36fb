/// SeparableConv1D: each channel of sequences (n, steps, c) is convolved with `depth_multiplier` kernels of
/// its own, and a convolution of single steps with bias and activation mixes what comes out.
///
/// The first kernel is DepthwiseConv1D's, "depthwise_kernel"; the second, "pointwise_kernel", is (filters, 1,
/// 1, c * multiplier) in memory, (1, c * multiplier, filters) in Keras' files. relu is computed by the
/// convolution itself. Of causal padding only Keras 2 knows here.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/nn/activation.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct SeparableConv1DOptions {
  std::int64_t filters = 0;
  std::int64_t kernel = 3;
  std::int64_t strides = 1;
  Padding1D padding = Padding1D::valid;
  std::int64_t depth_multiplier = 1;
  std::int64_t dilation = 1;
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

class RONDE_API SeparableConv1D : public Module {
 public:
  explicit SeparableConv1D(SeparableConv1DOptions options);
  std::string class_name() const override { return "SeparableConv1D"; }
  ConfigDict config() const override;
  /// (n, steps, c) -> (n, steps out, filters)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  SeparableConv1DOptions options_;
  Variable depthwise_, pointwise_, bias_;
};

}  // namespace ronde::inline v0
