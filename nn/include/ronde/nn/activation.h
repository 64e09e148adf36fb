/// Activation: an elementwise function (softmax: over the last axis), as an option of a layer and as a layer.
///
///     Conv2D({.filters = 32, .kernel = {3, 3}, .activation = Activation::relu});
///     Sequential net(Dense({.units = 10}), Activation(Activation::softmax));
///
/// Keras 2 has no hard_silu, and refuses a file with it or with this hard_sigmoid; Keras 3 opens it.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Activation : public Module {
 public:
  enum class Kind {
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
    relu6,         ///< min(max(x, 0), 6)
    hard_sigmoid,  ///< relu6(x + 3) / 6, Keras 3's; Keras 2 calls min(max(x / 5 + 1 / 2, 0), 1) so
    hard_silu,     ///< x * hard_sigmoid(x), also called hard_swish
    mish,          ///< x * tanh(softplus(x))
  };
  // As `Activation::relu`. (`using enum` ends g++ 12 with an internal error where a template names one.)
  static constexpr Kind linear = Kind::linear, relu = Kind::relu, leaky_relu = Kind::leaky_relu,
                        elu = Kind::elu, gelu = Kind::gelu, silu = Kind::silu, sigmoid = Kind::sigmoid,
                        tanh = Kind::tanh, softmax = Kind::softmax, log_softmax = Kind::log_softmax,
                        softplus = Kind::softplus, softsign = Kind::softsign, selu = Kind::selu,
                        exponential = Kind::exponential, relu6 = Kind::relu6,
                        hard_sigmoid = Kind::hard_sigmoid, hard_silu = Kind::hard_silu, mish = Kind::mish;
  static constexpr Kind kLastKind = mish;

  explicit Activation(Kind kind) : kind_(kind) {}
  Kind kind() const { return kind_; }
  std::string class_name() const override { return "Activation"; }
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Kind kind_;
};

RONDE_API Variable apply_activation(Activation::Kind kind, const Variable& x);
/// Keras' name: "relu".
RONDE_API std::string to_string(Activation::Kind kind);

}  // namespace ronde::inline v0
