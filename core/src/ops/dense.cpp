#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"

namespace ronde::inline v0 {
namespace {

struct DenseNode final : Node {
  Tensor x;       // (n, in); kept for the weight's gradient
  Tensor weight;  // (in, units); kept for x's
  Tensor y;       // (n, units); kept for a fused relu
  Epilogue epilogue = Epilogue::none;

  const char* name() const override { return "dense"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = before_epilogue(epilogue, grad_out, y, grads);
    if (grads.wanted(1)) grad.backend().matmul(grads.out(1), x, grad, {.transpose_a = true});
    if (grads.wanted(2)) bias_grad(grads.out(2), grad);
    if (grads.wanted(0)) grad.backend().matmul(grads.out(0), grad, weight, {.transpose_b = true});
  }
};

void check_shapes(const Tensor& x, const Tensor& weight, const Variable& bias) {
  require_rank("dense", "input", x, 2, "(n, in)");
  require_rank("dense", "weight", weight, 2, "(in, units)");
  require_weight("dense", x, weight);
  require_floating("dense", x);
  require(x.size(1) == weight.size(0), "[dense] weight expects ", counted(weight.size(0), "input"), ", got ",
          x.size(1));
  if (!bias.defined()) return;
  require_weight("dense", x, bias.value());
  require(bias.shape() == Shape{weight.size(1)}, "[dense] bias must be (", weight.size(1), ",), got shape ",
          bias.shape());
}

}  // namespace

Variable dense(const Variable& x, const Variable& weight, const Variable& bias, Epilogue epilogue) {
  check_shapes(x.value(), weight.value(), bias);
  const Tensor input = x.value().contiguous(), kernel = weight_value(weight.value(), input);
  const Tensor y = Tensor::empty({x.size(0), weight.size(1)}, input.options());
  y.backend().dense(y, input, kernel, dense_value(bias), epilogue);
  if (!Node::needed({x, weight, bias})) return y;
  auto node = std::make_shared<DenseNode>();
  if (weight.requires_grad()) node->x = input;
  if (x.requires_grad()) node->weight = kernel;
  if (epilogue == Epilogue::relu) node->y = y;
  node->epilogue = epilogue;
  return Node::record(std::move(node), {x, weight, bias}, y);
}

}  // namespace ronde::inline v0
