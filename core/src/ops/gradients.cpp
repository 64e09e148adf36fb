#include "ops/gradients.h"

namespace ronde::inline v0 {

BroadcastGrad::BroadcastGrad(InputGrads& grads, int input, const Shape& shape, const Tensor& like)
    : grads_(grads), input_(input), shape_(shape) {
  memory_ = shape == like.shape() ? grads.out(input) : Tensor::empty_like(like);
}

void BroadcastGrad::finish() const {
  if (memory_.shape() != shape_) sum_to(grads_.out(input_), memory_);
}

void set_summed(InputGrads& grads, int input, const Shape& shape, const Tensor& grad) {
  if (!grads.wanted(input)) return;
  if (grad.shape() == shape) return grads.set(input, grad);
  sum_to(grads.out(input), grad);
}

void sum_to(const Tensor& out, const Tensor& grad) {
  Shape kept = grad.shape();
  const int lead = grad.rank() - out.rank();
  for (int i = 0; i < grad.rank(); ++i) kept[i] = i < lead ? 1 : out.size(i - lead);
  grad.backend().reduce(ReduceOp::sum, out.reshape(kept), grad.contiguous());
}

Tensor memory_over(const Tensor& grad_y, const Tensor& y, const InputGrads& grads) {
  return grads.owns_grad_out() ? grad_y : Tensor::empty_like(y);
}

Tensor grad_before_relu(const Tensor& grad_y, const Tensor& y, const InputGrads& grads) {
  const Tensor grad = memory_over(grad_y, y, grads);
  y.backend().unary_backward(UnaryOp::relu, grad, grad_y, y, y, {});
  return grad;
}

void bias_grad(const Tensor& grad_bias, const Tensor& grad) {
  const std::int64_t c = grad_bias.count();
  const std::int64_t rows = c == 0 ? 0 : grad.count() / c;
  grad.backend().reduce(ReduceOp::sum, grad_bias.reshape({1, c}), grad.reshape({rows, c}));
}

}  // namespace ronde::inline v0
