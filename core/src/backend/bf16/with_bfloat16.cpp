#include "backend/bf16/with_bfloat16.h"

#include "backend/bf16/in_float.h"

namespace ronde::inline v0 {

namespace {

/// Told whether what is multiplied was bf16.
Conv2dParams params_of(const Tensor& operand, Conv2dParams params) {
  params.products = is_bfloat16(operand) ? Products::rounded : Products::precise;
  return params;
}

/// The same call of other tensors.
Conv2dBackward with_tensors(const Conv2dBackward& layer, const Tensor& grad_x, const Tensor& grad_weight,
                            const Tensor& grad_bias, const Tensor& grad_out, const Tensor& x,
                            const Tensor& weight, const Tensor& out) {
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

}  // namespace

void WithBfloat16::unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) {
  if (!in_float([&](const auto&... t) { this->unary(op, t..., params); }, written(out), read(x)))
    CpuBackend::unary(op, out, x, params);
}

void WithBfloat16::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                  const Tensor& y, UnaryParams params) {
  if (!in_float([&](const auto&... t) { this->unary_backward(op, t..., params); }, written(grad_x),
                read(grad_y), read(x), read(y)))
    CpuBackend::unary_backward(op, grad_x, grad_y, x, y, params);
}

void WithBfloat16::relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y,
                                 const Tensor& y, double scale) {
  if (!grad_bias.defined() && scale == 1.0)
    return this->unary_backward(UnaryOp::relu, grad_x, grad_y, y, y, {});
  if (!in_float([&](const auto&... t) { this->relu_backward(t..., scale); }, written(grad_x),
                written(grad_bias), read(grad_y), read(y)))
    CpuBackend::relu_backward(grad_x, grad_bias, grad_y, y, scale);
}

void WithBfloat16::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  if (!in_float([&](const auto&... t) { this->binary(op, t...); }, written(out), read(a), read(b)))
    CpuBackend::binary(op, out, a, b);
}

void WithBfloat16::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  if (!in_float([&](const auto&... t) { this->accumulate(t..., alpha); }, updated(x), read(y)))
    CpuBackend::accumulate(x, y, alpha);
}

void WithBfloat16::reduce(ReduceOp op, const Tensor& out, const Tensor& x) {
  if (!in_float([&](const auto&... t) { this->reduce(op, t...); }, written(out), read(x)))
    CpuBackend::reduce(op, out, x);
}

void WithBfloat16::argmax(const Tensor& out, const Tensor& x) {
  if (!in_float([&](const auto&... t) { this->argmax(t...); }, written(out), read(x)))
    CpuBackend::argmax(out, x);
}

void WithBfloat16::sum_of_squares(const Tensor& out, const Tensor& x) {
  if (!in_float([&](const auto&... t) { this->sum_of_squares(t...); }, written(out), read(x)))
    CpuBackend::sum_of_squares(out, x);
}

void WithBfloat16::count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) {
  if (!in_float([&](const auto&... t) { this->count_correct(t...); }, updated(total), read(scores),
                read(labels)))
    CpuBackend::count_correct(total, scores, labels);
}

void WithBfloat16::matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) {
  if (!in_float([&](const auto&... t) { this->matmul(t..., params); }, written(out), read(a), read(b)))
    CpuBackend::matmul(out, a, b, params);
}

void WithBfloat16::dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         Epilogue epilogue) {
  if (!in_float([&](const auto&... t) { this->dense(t..., epilogue); }, written(out), read(x), read(weight),
                read(bias)))
    CpuBackend::dense(out, x, weight, bias, epilogue);
}

void WithBfloat16::gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) {
  if (!in_float([&](const auto&... t) { this->gather_rows(t...); }, written(out), read(table), read(indices)))
    CpuBackend::gather_rows(out, table, indices);
}

void WithBfloat16::scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) {
  if (!in_float([&](const auto&... t) { this->scatter_add_rows(t...); }, updated(table), read(x),
                read(indices)))
    CpuBackend::scatter_add_rows(table, x, indices);
}

void WithBfloat16::conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const Conv2dParams& params, Epilogue epilogue) {
  if (!in_float([&](const auto&... t) { this->conv2d(t..., params_of(x, params), epilogue); }, written(out),
                read(x), read(weight), read(bias)))
    CpuBackend::conv2d(out, x, weight, bias, params, epilogue);
}

void WithBfloat16::conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                         const Conv2dParams& params) {
  if (!in_float([&](const auto&... t) { this->conv2d_backward_input(t..., params_of(grad_out, params)); },
                written(grad_x), read(grad_out), read(weight)))
    CpuBackend::conv2d_backward_input(grad_x, grad_out, weight, params);
}

void WithBfloat16::conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                          const Tensor& grad_out, const Tensor& x,
                                          const Conv2dParams& params) {
  if (!in_float([&](const auto&... t) { this->conv2d_backward_weight(t..., params_of(x, params)); },
                written(grad_weight), written(grad_bias), read(grad_out), read(x)))
    CpuBackend::conv2d_backward_weight(grad_weight, grad_bias, grad_out, x, params);
}

void WithBfloat16::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                     const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                     Epilogue epilogue, const Pool2dParams& pool) {
  if (!in_float(
          [&](const auto&... t) { this->conv2d_max_pool2d(t..., params_of(x, params), epilogue, pool); },
          written(out), written(argmax), read(x), read(weight), read(bias)))
    CpuBackend::conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool);
}

void WithBfloat16::conv2d_backward(const Conv2dBackward& layer) {
  if (!in_float([&](const auto&... t) { this->conv2d_backward(with_tensors(layer, t...)); },
                written(layer.grad_x), written(layer.grad_weight), written(layer.grad_bias),
                read(layer.grad_out), read(layer.x), read(layer.weight), read(layer.out)))
    CpuBackend::conv2d_backward(layer);
}

void WithBfloat16::max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                              const Pool2dParams& params) {
  if (!in_float([&](const auto&... t) { this->max_pool2d(t..., params); }, written(out), written(argmax),
                read(x)))
    CpuBackend::max_pool2d(out, argmax, x, params);
}

void WithBfloat16::max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                       const Pool2dParams& params) {
  if (!in_float([&](const auto&... t) { this->max_pool2d_backward(t..., params); }, written(grad_x),
                read(grad_out), read(argmax)))
    CpuBackend::max_pool2d_backward(grad_x, grad_out, argmax, params);
}

void WithBfloat16::average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) {
  if (!in_float([&](const auto&... t) { this->average_pool2d(t..., params); }, written(out), read(x)))
    CpuBackend::average_pool2d(out, x, params);
}

void WithBfloat16::average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                           const Pool2dParams& params) {
  if (!in_float([&](const auto&... t) { this->average_pool2d_backward(t..., params); }, written(grad_x),
                read(grad_out)))
    CpuBackend::average_pool2d_backward(grad_x, grad_out, params);
}

void WithBfloat16::softmax(const Tensor& out, const Tensor& x) {
  if (!in_float([&](const auto&... t) { this->softmax(t...); }, written(out), read(x)))
    CpuBackend::softmax(out, x);
}

void WithBfloat16::softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  if (!in_float([&](const auto&... t) { this->softmax_backward(t...); }, written(grad_x), read(grad_y),
                read(y)))
    CpuBackend::softmax_backward(grad_x, grad_y, y);
}

void WithBfloat16::log_softmax(const Tensor& out, const Tensor& x) {
  if (!in_float([&](const auto&... t) { this->log_softmax(t...); }, written(out), read(x)))
    CpuBackend::log_softmax(out, x);
}

void WithBfloat16::log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  if (!in_float([&](const auto&... t) { this->log_softmax_backward(t...); }, written(grad_x), read(grad_y),
                read(y)))
    CpuBackend::log_softmax_backward(grad_x, grad_y, y);
}

void WithBfloat16::softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities,
                                         const Tensor& logits, const Tensor& labels, double smoothing) {
  if (!in_float([&](const auto&... t) { this->softmax_cross_entropy(t..., smoothing); }, written(losses),
                written(probabilities), read(logits), read(labels)))
    CpuBackend::softmax_cross_entropy(losses, probabilities, logits, labels, smoothing);
}

void WithBfloat16::softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                                  const Tensor& probabilities, const Tensor& labels,
                                                  double smoothing) {
  if (!in_float([&](const auto&... t) { this->softmax_cross_entropy_backward(t..., smoothing); },
                written(grad_logits), read(grad_losses), read(probabilities), read(labels)))
    CpuBackend::softmax_cross_entropy_backward(grad_logits, grad_losses, probabilities, labels, smoothing);
}

void WithBfloat16::dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                           const DropoutParams& params) {
  if (!in_float([&](const auto&... t) { this->dropout(t..., params); }, written(out), read(x),
                read(sample_keys)))
    CpuBackend::dropout(out, x, sample_keys, params);
}

void WithBfloat16::batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  if (!in_float([&](const auto&... t) { this->batch_statistics(t...); }, written(mean), written(variance),
                read(x)))
    CpuBackend::batch_statistics(mean, variance, x);
}

void WithBfloat16::batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                              const Tensor& gamma, const Tensor& beta, BatchNormParams params) {
  if (!in_float([&](const auto&... t) { this->batch_norm(t..., params); }, written(out), read(x), read(mean),
                read(variance), read(gamma), read(beta)))
    CpuBackend::batch_norm(out, x, mean, variance, gamma, beta, params);
}

void WithBfloat16::batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                       const Tensor& grad_beta, const Tensor& grad_out, const Tensor& x,
                                       const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                       BatchNormParams params) {
  if (!in_float([&](const auto&... t) { this->batch_norm_backward(t..., params); }, written(grad_x),
                written(grad_gamma), written(grad_beta), read(grad_out), read(x), read(mean), read(variance),
                read(gamma)))
    CpuBackend::batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma,
                                    params);
}

void WithBfloat16::batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean,
                                         const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                         BatchNormParams params, UnaryStage activation) {
  if (!in_float([&](const auto&... t) { this->batch_norm_activation(t..., params, activation); },
                written(out), read(x), read(mean), read(variance), read(gamma), read(beta)))
    CpuBackend::batch_norm_activation(out, x, mean, variance, gamma, beta, params, activation);
}

void WithBfloat16::batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                                  const Tensor& grad_beta, const Tensor& grad_out,
                                                  const Tensor& x, const Tensor& mean, const Tensor& variance,
                                                  const Tensor& gamma, const Tensor& beta,
                                                  BatchNormParams params, UnaryStage activation) {
  if (!in_float([&](const auto&... t) { this->batch_norm_activation_backward(t..., params, activation); },
                written(grad_x), written(grad_gamma), written(grad_beta), read(grad_out), read(x), read(mean),
                read(variance), read(gamma), read(beta)))
    CpuBackend::batch_norm_activation_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance,
                                               gamma, beta, params, activation);
}

}  // namespace ronde::inline v0
