#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"

namespace ronde::inline v0 {
namespace {

struct DenseNode final : Node {
  Tensor x;            // (n, in); kept for the weight's gradient
  Tensor weight;       // (in, units); kept for x's
  Tensor y;            // (n, units); kept for a fused relu
  double scale = 1.0;  // of a dropout behind the relu

  const char* name() const override { return "dense"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = before_relu(grad_out, grads);
    Backend& backend = grad.backend();
    if (grads.wanted(1))
      backend.dense_backward_weight(grads.out(1), grads.wanted(2) ? grads.out(2) : Tensor(), grad, x);
    else if (grads.wanted(2))
      bias_grad(grads.out(2), grad);
    if (grads.wanted(0)) backend.matmul(grads.out(0), grad, weight, {.transpose_b = true});
  }

 private:
  Tensor before_relu(const Tensor& grad_out, const InputGrads& grads) const {
    const Tensor dense_grad = grad_out.contiguous();
    if (!y.defined()) return dense_grad;
    const Tensor grad = memory_over(dense_grad, y, grads);
    y.backend().relu_backward(grad, {}, dense_grad, y, scale);
    return grad;
  }
};

Variable run_dense(const Variable& x, const DenseCall& call, const DropoutCall* drop) {
  const auto& [weight, bias, epilogue] = call;
  require_dense("dense", x.value(), weight.value(), bias);
  const Tensor input = x.value().contiguous(), kernel = weight_value(weight.value(), input);
  const Tensor y = Tensor::empty({x.size(0), weight.size(1)}, input.options());
  if (drop)
    y.backend().dense_dropout(y, input, kernel, dense_value(bias), epilogue, drop->sample_keys.contiguous(),
                              drop->params);
  else
    y.backend().dense(y, input, kernel, dense_value(bias), epilogue);
  if (!Node::needed({x, weight, bias})) return y;
  auto node = std::make_shared<DenseNode>();
  if (weight.requires_grad()) node->x = input;
  if (x.requires_grad()) node->weight = kernel;
  if (epilogue == Epilogue::relu) node->y = y;
  if (drop) node->scale = 1 / (1 - drop->params.rate);
  return Node::record(std::move(node), {x, weight, bias}, y);
}

}  // namespace

Variable dense(const Variable& x, const Variable& weight, const Variable& bias, Epilogue epilogue) {
  return run_dense(x, {weight, bias, epilogue}, nullptr);
}

// Where the result is positive, and there alone, a gradient goes through relu and dropout.
Variable dense_dropout(const Variable& x, const DenseCall& call, const DropoutCall& drop) {
  if (call.epilogue != Epilogue::relu || drop.params.rate == 0.0)
    return dropout(run_dense(x, call, nullptr), drop.sample_keys, drop.params);
  require_dropout(x.value(), drop.sample_keys, drop.params);
  return run_dense(x, call, &drop);
}

}  // namespace ronde::inline v0
