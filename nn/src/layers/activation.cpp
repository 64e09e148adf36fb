#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

constexpr double kLeakySlope = 0.2;
constexpr double kEluAlpha = 1.0;

Variable relu6(const Variable& x) {
  return clipped_relu(x, 6.0);
}

Variable hard_sigmoid(const Variable& x) {
  return relu6(x + 3.0) * (1.0 / 6.0);
}

}  // namespace

Variable apply_activation(Activation::Kind kind, const Variable& x) {
  switch (kind) {
    case Activation::linear:
      return x;
    case Activation::relu:
      return relu(x);
    case Activation::leaky_relu:
      return leaky_relu(x, kLeakySlope);
    case Activation::elu:
      return elu(x, kEluAlpha);
    case Activation::gelu:
      return gelu(x);
    case Activation::silu:
      return silu(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return tanh(x);
    case Activation::softmax:
      return softmax(x);
    case Activation::log_softmax:
      return log_softmax(x);
    case Activation::softplus:
      return softplus(x);
    case Activation::softsign:
      return softsign(x);
    case Activation::selu:
      return selu(x);
    case Activation::exponential:
      return exp(x);
    case Activation::relu6:
      return relu6(x);
    case Activation::hard_sigmoid:
      return hard_sigmoid(x);
    case Activation::hard_silu:
      return x * hard_sigmoid(x);
    case Activation::mish:
      break;
  }
  return x * tanh(softplus(x));
}

Variable Activation::forward(const Variable& x, const Context&) {
  return apply_activation(kind_, x);
}

ConfigDict Activation::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("activation", to_string(kind_));
  return config;
}

std::string to_string(Activation::Kind kind) {
  static constexpr const char* kNames[] = {
      "linear",  "relu",        "leaky_relu", "elu",          "gelu",      "swish",
      "sigmoid", "tanh",        "softmax",    "log_softmax",  "softplus",  "softsign",
      "selu",    "exponential", "relu6",      "hard_sigmoid", "hard_silu", "mish"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace ronde::inline v0
