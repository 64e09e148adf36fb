/// Activation: an elementwise function (softmax: over the last axis), as an option of a layer and as a layer.
///
///     Conv2D({.filters = 32, .kernel = {3, 3}, .activation = Activation::relu});
///     Sequential net(Dense({.units = 10}), Activation(Activation::softmax));
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Activation : public Module {
 public:
  enum Kind {
    linear,
    relu,
    leaky_relu,  ///< slope 0.2 below zero, as Keras' function (its layer has 0.3)
    elu,
    gelu,  ///< by erf
    silu,
    sigmoid,
    tanh,
    softmax,
    log_softmax,
    softplus,
    softsign,
    selu,
    exponential,
  };
  static constexpr Kind kLastKind = exponential;

  explicit Activation(Kind kind) : kind_(kind) {}
  Kind kind() const { return kind_; }
  std::string class_name() const override { return "Activation"; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Kind kind_;
};

RONDE_API Variable apply_activation(Activation::Kind kind, const Variable& x);
/// Keras' name: "relu".
RONDE_API std::string to_string(Activation::Kind kind);

}  // namespace ronde::inline v0
