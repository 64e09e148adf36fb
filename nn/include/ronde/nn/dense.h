/// Dense: activation(x * kernel + bias) over the last axis; kernel (inputs, units), bias (units).
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct DenseOptions {
  std::int64_t units = 0;
  Activation::Kind activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API Dense : public Module {
 public:
  explicit Dense(DenseOptions options);
  std::string class_name() const override { return "Dense"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// (..., inputs) -> (..., units)
  Variable forward(const Variable& x, const Context& context) override;
  /// The weights as built, and what the operation dense computes with them: all of the layer if the
  /// activation is relu or none, else all but that.
  DenseCall call() const;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  DenseOptions options_;
  Variable kernel_, bias_;
};

}  // namespace ronde::inline v0
