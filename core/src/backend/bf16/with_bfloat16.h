/// WithBfloat16: a backend whose arithmetic is float, which takes bf16 too. Each kernel sees float copies of
/// its bf16 tensors, so a result is rounded once, to nearest, whatever was computed on the way. The steps of
/// optimizers are left out: weights are float at least.
#pragma once

#include <utility>

#include <ronde/core/backend.h>

#include "backend/bf16/in_float.h"

namespace ronde::inline v0 {

/// `Base` is a backend that can fill and copy bf16.
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
    in_float([&, this](const auto&... t) { this->Base::matmul(t..., params); }, written(out), read(a),
             read(b));
  }
  void dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
             Epilogue epilogue) override {
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
    in_float([&, this](const auto&... t) { this->Base::conv2d(t..., params, epilogue); }, written(out),
             read(x), read(weight), read(bias));
  }
  void conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                             const Conv2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::conv2d_backward_input(t..., params); },
             written(grad_x), read(grad_out), read(weight));
  }
  void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                              const Tensor& x, const Conv2dParams& params) override {
    in_float([&, this](const auto&... t) { this->Base::conv2d_backward_weight(t..., params); },
             written(grad_weight), written(grad_bias), read(grad_out), read(x));
  }
  void conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, const Conv2dParams& params, Epilogue epilogue,
                         const Pool2dParams& pool) override {
    in_float([&, this](const auto&... t) { this->Base::conv2d_max_pool2d(t..., params, epilogue, pool); },
             written(out), written(argmax), read(x), read(weight), read(bias));
  }
  void conv2d_backward(const Conv2dBackward& layer) override {
    in_float(
        [&](const Tensor& grad_x, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
            const Tensor& x, const Tensor& weight, const Tensor& out) {
          Conv2dBackward wide = layer;
          wide.grad_x = grad_x;
          wide.grad_weight = grad_weight;
          wide.grad_bias = grad_bias;
          wide.grad_out = grad_out;
          wide.x = x;
          wide.weight = weight;
          wide.out = out;
          Base::conv2d_backward(wide);
        },
        written(layer.grad_x), written(layer.grad_weight), written(layer.grad_bias), read(layer.grad_out),
        read(layer.x), read(layer.weight), read(layer.out));
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
  /// Of several parts each rounds its result.
  bool fuses(const Conv2dLayer& layer) const override { return !is_bfloat16(layer.x) && Base::fuses(layer); }
  void conv2d_layer(const Conv2dLayer& layer) override {
    is_bfloat16(layer.x) ? Backend::conv2d_layer(layer) : Base::conv2d_layer(layer);
  }
  void conv2d_layer_backward(const Conv2dLayerBackward& layer) override {
    is_bfloat16(layer.conv.grad_out) ? Backend::conv2d_layer_backward(layer)
                                     : Base::conv2d_layer_backward(layer);
  }
};

}  // namespace ronde::inline v0
