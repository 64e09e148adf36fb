/// Conv1DTranspose: activation(the gradient of a Conv1D's input for a gradient x of its result, plus a bias),
/// sequences (n, steps, c); how many steps come out: `conv2d_transpose` in ronde/core/ops.h.
///
/// Kernel: (c, 1, kernel, filters) in memory, (kernel, filters, c) in Keras' files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct Conv1DTransposeOptions {
  std::int64_t filters = 0;
  std::int64_t kernel = 3;
  std::int64_t strides = 1;
  Padding padding = Padding::valid;
  std::optional<std::int64_t> output_padding = {};  ///< below the strides; not set: what makes the usual size
  std::int64_t dilation = 1;
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API Conv1DTranspose : public Module {
 public:
  explicit Conv1DTranspose(Conv1DTransposeOptions options);
  std::string class_name() const override { return "Conv1DTranspose"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  Conv1DTransposeOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
