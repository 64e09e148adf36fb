#include "ops/unary.h"

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

// What the derivative is a function of. A net keeps that tensor until backward, so where there is a choice it
// is the result: the next operation mostly keeps the same one.
enum class Keeps { nothing, input, output };

Keeps keeps(UnaryOp op) {
  switch (op) {
    case UnaryOp::affine:
      return Keeps::nothing;
    case UnaryOp::relu:
    case UnaryOp::clipped_relu:
    case UnaryOp::sigmoid:
    case UnaryOp::tanh:
    case UnaryOp::exp:
    case UnaryOp::sqrt:
      return Keeps::output;
    default:
      return Keeps::input;
  }
}

struct UnaryNode final : Node {
  UnaryOp op;
  const char* op_name;
  UnaryParams params;
  Tensor kept;

  const char* name() const override { return op_name; }
  void backward(const Tensor& grad_y, InputGrads& grads) override {
    const Tensor& xy = kept.defined() ? kept : grad_y;
    grad_y.backend().unary_backward(op, grads.out_in_place(0), grad_y, xy, xy, params);
  }
};

}  // namespace

Variable apply_unary(UnaryOp op, const char* name, const Variable& x, UnaryParams params) {
  require_floating(name, x.value());
  // The gradient asks whether y has reached the limit, so it has to be one of y's numbers.
  if (op == UnaryOp::clipped_relu && x.dtype() == DType::bf16)
    params.alpha = static_cast<float>(bfloat16(static_cast<float>(params.alpha)));
  const Tensor y = Tensor::empty_like(x.value());
  y.backend().unary(op, y, x.value(), params);
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<UnaryNode>();
  node->op = op;
  node->op_name = name;
  node->params = params;
  if (keeps(op) == Keeps::input) node->kept = x.value();
  if (keeps(op) == Keeps::output) node->kept = y;
  return Node::record(std::move(node), {x}, y);
}

}  // namespace ronde::inline v0
