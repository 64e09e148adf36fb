/// Conv1D: activation(cross-correlation of sequences with a kernel + bias), sequences (n, steps, c).
///
/// Kernel: (filters, 1, kernel, c / groups) in memory, (kernel, c / groups, filters) in Keras' files. It is
/// the convolution of images of one row; relu is computed by the convolution itself.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

/// `causal`: zeros in front alone, as many as the kernel reaches back, so that no result knows a later step.
enum class Padding1D { valid, same, causal };

struct Conv1DOptions {
  std::int64_t filters = 0;
  std::int64_t kernel = 3;
  std::int64_t strides = 1;
  Padding1D padding = Padding1D::valid;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API Conv1D : public Module {
 public:
  explicit Conv1D(Conv1DOptions options);
  std::string class_name() const override { return "Conv1D"; }
  ConfigDict config() const override;
  /// (n, steps, c) -> (n, steps out, filters)
  Variable forward(const Variable& x, const Context& context) override;
  const Conv1DOptions& options() const { return options_; }

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  Conv1DOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
