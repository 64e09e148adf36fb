/// Conv2DTranspose: each pixel puts a multiple of the kernel into a larger image; activation(sum + bias).
///
/// Kernel: (c, kh, kw, filters) in memory, (kh, kw, filters, c) in Keras' files. With k = (kernel - 1) *
/// dilation + 1 a result has (in - 1) * stride + max(k, stride) rows (valid) or in * stride (same); with an
/// `output_padding` (in - 1) * stride + k + output_padding (valid) or (in - 1) * stride + k % 2 +
/// output_padding (same).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct Conv2DTransposeOptions {
  std::int64_t filters = 0;
  Size2d kernel{3, 3};
  Size2d strides{1, 1};
  Padding padding = Padding::valid;
  /// Rows and columns at the bottom and the right, below the strides; which of the sizes that a convolution
  /// takes to the input's is meant. Not set: as above.
  std::optional<Size2d> output_padding = {};
  Size2d dilation{1, 1};  ///< as in Keras not together with strides
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API Conv2DTranspose : public Module {
 public:
  /// A UsageError for an output_padding that is not below the strides, and for strides and dilation in one.
  explicit Conv2DTranspose(Conv2DTransposeOptions options);
  std::string class_name() const override { return "Conv2DTranspose"; }
  ConfigDict config() const override;
  /// (n, h, w, c) -> (n, oh, ow, filters)
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  Conv2DTransposeOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
