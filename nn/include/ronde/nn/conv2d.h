/// Conv2D: activation(cross-correlation of images with a kernel + bias), images (n, h, w, c).
///
/// Kernel: (filters, kh, kw, c / groups) in memory, (kh, kw, c / groups, filters) in Keras' files. relu is
/// computed by the convolution itself.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct Conv2DOptions {
  std::int64_t filters = 0;
  Size2d kernel{3, 3};
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
  Size2d dilation{1, 1};
  std::int64_t groups = 1;
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API Conv2D : public Module {
 public:
  explicit Conv2D(Conv2DOptions options);
  std::string class_name() const override { return "Conv2D"; }
  ConfigDict config() const override;
  /// (n, h, w, c) -> (n, oh, ow, filters)
  Variable forward(const Variable& x, const Context& context) override;
  /// The same of images with margins of zeros around them.
  Variable convolve(const Variable& x, const Margins2d& margins = {}) const;
  /// The weights as built, and what the operation conv2d computes with them: all of the layer if it is
  /// `is_one_call`, else all but the activation.
  Conv2dCall call() const;
  /// Whether the activation is relu or none.
  bool is_one_call() const;
  const Conv2DOptions& options() const { return options_; }

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  Conv2DOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
