/// WithBfloat16: a backend whose arithmetic is float, which takes bf16 too. Each kernel sees float copies of
/// its bf16 tensors, so a result is rounded once, to nearest, whatever was computed on the way; convolutions
/// are told that what they multiply was bf16. Matrix products and convolutions are offered the bf16 tensors
/// themselves, those of a net's images, which are large, above all.
/// The steps of optimizers are left out: weights are float at least.
#pragma once

#include <utility>

#include <ronde/core/backend.h>

#include "backend/bf16/in_float.h"

namespace ronde::inline v0 {

/// The same call, told whether what it multiplies was bf16.
inline Conv2dParams params_of(const Tensor& operand, Conv2dParams params) {
  params.products = is_bfloat16(operand) ? Products::rounded : Products::precise;
  return params;
}
inline void set_weights(Conv2dStage& stage, const Tensor& weight, const Tensor& bias) {
  stage.weight = weight;
  stage.bias = bias;
  stage.params.products = Products::rounded;
}
inline Conv2dLayer of_bfloat16(Conv2dLayer layer) {
  layer.conv.params.products = Products::rounded;
  if (layer.front) layer.front->params.products = Products::rounded;
  return layer;
}

/// The same call of other tensors.
inline Conv2dBackward with_tensors(const Conv2dBackward& layer, const Tensor& grad_x,
                                   const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                                   const Tensor& x, const Tensor& weight, const Tensor& out) {
  Conv2dBackward wide = layer;
  wide.grad_x = grad_x;
  wide.grad_weight = grad_weight;
  wide.grad_bias = grad_bias;
  wide.grad_out = grad_out;
  wide.x = x;
  wide.weight = weight;
  wide.out = out;
  wide.params = params_of(layer.grad_out, layer.params);
  return wide;
}

/// `Base` is a backend of the CPU, which can fill and copy bf16.
template <class Base>
class WithBfloat16 final : public Base {
 public:
  using Base::Base;

  void unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) override {
    in_float([&, this](const auto&... t) { this->Base::unary(op, t..., params); }, written(out), read(x));
  }
  void unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                      const Tensor& y, UnaryParams params) override {
    in_float([&, this](const auto&... t) { this->Base::unary_backward(op, t..., params); }, written(grad_x),
             read(grad_y), read(x), read(y));
  }
  void relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y, const Tensor& y,
                     double scale) override {
    in_float([&, this](const auto&... t) { this->Base::relu_backward(t..., scale); }, written(grad_x),
             written(grad_bias), read(grad_y), read(y));
  }
  void binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) override {
    in_float([&, this](const auto&... t) { this->Base::binary(op, t...); }, written(out), read(a), read(b));
  }
  void accumulate(const Tensor& x, const Tensor& y, double alpha) override {
    in_float([&, this](const auto&... t) { this->Base::accumulate(t..., alpha); }, updated(x), read(y));
  }
  void reduce(ReduceOp op, const Tensor& out, const Tensor& x) override {
    in_float([&, this](const auto&... t) { this->Base::reduce(op, t...); }, written(out), read(x));
  }
  void argmax(const Tensor& out, const Tensor& x) override {
    in_float([&, this](const auto&... t) { this->Base::argmax(t...); }, written(out), read(x));
  }
  void sum_of_squares(const Tensor& out, const Tensor& x) override {
    in_float([&, this](const auto&... t) { this->Base::sum_of_squares(t...); }, written(out), read(x));
  }
  void count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) override {
    in_float([&, this](const auto&... t) { this->Base::count_correct(t...); }, updated(total), read(scores),
             read(labels));
  }
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) override {
    if (is_bfloat16(a) && is_bfloat16(b) && Base::matmul_bfloat16(out, a, b, params)) return;
    in_float([&, this](const auto&... t) { this->Base::matmul(t..., params); }, written(out), read(a),
             read(b));
  }
  void dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
             Epilogue epilogue) override {
    if (is_bfloat16(x) && is_bfloat16(weight) && Base::dense_bfloat16(out, x, weight, bias, epilogue)) return;
    in_float([&, this](const auto&... t) { this->Base::dense(t..., epilogue); }, written(out), read(x),
             read(weight), read(bias));
  }
  void gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) override {
    in_float([&, this](const auto&... t) { this->Base::gather_rows(t...); }, written(out), read(table),
             read(indices));
  }
  void scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) override {
    in_float([&, this](const auto&... t) { this->Base::scatter_add_rows(t...); }, updated(table), read(x),
             read(indices));
  }
  void conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dParams& params, Epilogue epilogue) override {
    if (makes({.out = out, .x = x, .conv = {weight, bias, params, epilogue}})) return;
    in_float([&, this](const auto&... t) { this->Base::conv2d(t..., params_of(x, params), epilogue); },
             written(out), read(x), read(weight), read(bias));
  }
  void conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                             const Conv2dParams& params) override {
    in_float(
        [&, this](const auto&... t) { this->Base::conv2d_backward_input(t..., params_of(grad_out, params)); },
        written(grad_x), read(grad_out), read(weight));
  }
  void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                              const Tensor& x, const Conv2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::conv2d_backward_weight(t..., params_of(x, params)); },
             written(grad_weight), written(grad_bias), read(grad_out), read(x));
  }
  void conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, const Conv2dParams& params, Epilogue epilogue,
                         const Pool2dParams& pool) override {
    if (makes({.out = out, .argmax = argmax, .x = x, .conv = {weight, bias, params, epilogue}, .pool = pool}))
      return;
    in_float(
        [&, this](const auto&... t) {
          this->Base::conv2d_max_pool2d(t..., params_of(x, params), epilogue, pool);
        },
        written(out), written(argmax), read(x), read(weight), read(bias));
  }
  void conv2d_backward(const Conv2dBackward& layer) override {
    if (makes_gradients({.conv = layer})) return;
    in_float([&, this](const auto&... t) { this->Base::conv2d_backward(with_tensors(layer, t...)); },
             written(layer.grad_x), written(layer.grad_weight), written(layer.grad_bias),
             read(layer.grad_out), read(layer.x), read(layer.weight), read(layer.out));
  }
  bool fuses(const Conv2dLayer& layer) const override {
    return Base::fuses(is_bfloat16(layer.x) ? of_bfloat16(layer) : layer);
  }
  void conv2d_layer(const Conv2dLayer& layer) override {
    if (!is_bfloat16(layer.x)) return Base::conv2d_layer(layer);
    if (!fuses(layer) || !makes(layer)) Backend::conv2d_layer(layer);
  }
  void conv2d_layer_backward(const Conv2dLayerBackward& layer) override {
    if (!is_bfloat16(layer.conv.grad_out)) return Base::conv2d_layer_backward(layer);
    if (!makes_gradients(layer)) Backend::conv2d_layer_backward(layer);
  }
  void max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                  const Pool2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::max_pool2d(t..., params); }, written(out),
             written(argmax), read(x));
  }
  void max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                           const Pool2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::max_pool2d_backward(t..., params); }, written(grad_x),
             read(grad_out), read(argmax));
  }
  void average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::average_pool2d(t..., params); }, written(out),
             read(x));
  }
  void average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                               const Pool2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::average_pool2d_backward(t..., params); },
             written(grad_x), read(grad_out));
  }
  void softmax(const Tensor& out, const Tensor& x) override {
    in_float([&, this](const auto&... t) { this->Base::softmax(t...); }, written(out), read(x));
  }
  void softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override {
    in_float([&, this](const auto&... t) { this->Base::softmax_backward(t...); }, written(grad_x),
             read(grad_y), read(y));
  }
  void log_softmax(const Tensor& out, const Tensor& x) override {
    in_float([&, this](const auto&... t) { this->Base::log_softmax(t...); }, written(out), read(x));
  }
  void log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override {
    in_float([&, this](const auto&... t) { this->Base::log_softmax_backward(t...); }, written(grad_x),
             read(grad_y), read(y));
  }
  void softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities, const Tensor& logits,
                             const Tensor& labels, double smoothing) override {
    in_float([&, this](const auto&... t) { this->Base::softmax_cross_entropy(t..., smoothing); },
             written(losses), written(probabilities), read(logits), read(labels));
  }
  void softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                      const Tensor& probabilities, const Tensor& labels,
                                      double smoothing) override {
    in_float([&, this](const auto&... t) { this->Base::softmax_cross_entropy_backward(t..., smoothing); },
             written(grad_logits), read(grad_losses), read(probabilities), read(labels));
  }
  void dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
               const DropoutParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::dropout(t..., params); }, written(out), read(x),
             read(sample_keys));
  }
  void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) override {
    in_float([&, this](const auto&... t) { this->Base::batch_statistics(t...); }, written(mean),
             written(variance), read(x));
  }
  void batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& gamma, const Tensor& beta, BatchNormParams params) override {
    in_float([&, this](const auto&... t) { this->Base::batch_norm(t..., params); }, written(out), read(x),
             read(mean), read(variance), read(gamma), read(beta));
  }
  void batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, BatchNormParams params) override {
    in_float([&, this](const auto&... t) { this->Base::batch_norm_backward(t..., params); }, written(grad_x),
             written(grad_gamma), written(grad_beta), read(grad_out), read(x), read(mean), read(variance),
             read(gamma));
  }
  void batch_norm_relu(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                       const Tensor& gamma, const Tensor& beta, BatchNormParams params) override {
    in_float([&, this](const auto&... t) { this->Base::batch_norm_relu(t..., params); }, written(out),
             read(x), read(mean), read(variance), read(gamma), read(beta));
  }
  void batch_norm_relu_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                const Tensor& grad_out, const Tensor& out, const Tensor& x,
                                const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                BatchNormParams params) override {
    in_float([&, this](const auto&... t) { this->Base::batch_norm_relu_backward(t..., params); },
             written(grad_x), written(grad_gamma), written(grad_beta), read(grad_out), read(out), read(x),
             read(mean), read(variance), read(gamma));
  }

 private:
  /// Whether the base made the layer from its bf16 images as they are; weights are few, and widened.
  bool makes(const Conv2dLayer& layer) {
    bool made = false;
    if constexpr (Base::kTakesBfloat16Images) {
      if (!is_bfloat16(layer.x)) return false;
      const Conv2dStage front = layer.front.value_or(Conv2dStage{});
      in_float(
          [&, this](const Tensor& weight, const Tensor& bias, const Tensor& front_weight,
                    const Tensor& front_bias) {
            Conv2dLayer with_floats = layer;
            set_weights(with_floats.conv, weight, bias);
            if (layer.front) set_weights(*with_floats.front, front_weight, front_bias);
            made = this->Base::conv2d_bfloat16(with_floats);
          },
          read(layer.conv.weight), read(layer.conv.bias), read(front.weight), read(front.bias));
    }
    return made;
  }
  /// The same of its gradients.
  bool makes_gradients(const Conv2dLayerBackward& layer) {
    bool made = false;
    if constexpr (Base::kTakesBfloat16Images) {
      if (!is_bfloat16(layer.conv.grad_out)) return false;
      const Conv2dStage front = layer.front.value_or(Conv2dStage{});
      in_float(
          [&, this](const Tensor& weight, const Tensor& front_weight, const Tensor& front_bias,
                    const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_front_weight,
                    const Tensor& grad_front_bias) {
            Conv2dLayerBackward with_floats = layer;
            Conv2dBackward& conv = with_floats.conv;
            conv.params.products = Products::rounded;
            conv.weight = weight;
            conv.grad_weight = grad_weight;
            conv.grad_bias = grad_bias;
            if (layer.front) set_weights(*with_floats.front, front_weight, front_bias);
            with_floats.grad_front_weight = grad_front_weight;
            with_floats.grad_front_bias = grad_front_bias;
            made = this->Base::conv2d_backward_bfloat16(with_floats);
          },
          read(layer.conv.weight), read(front.weight), read(front.bias), written(layer.conv.grad_weight),
          written(layer.conv.grad_bias), written(layer.grad_front_weight), written(layer.grad_front_bias));
    }
    return made;
  }
};

}  // namespace ronde::inline v0
