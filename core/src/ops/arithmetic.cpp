#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"
#include "ops/unary.h"

namespace ronde::inline v0 {
namespace {

// What is kept of a and b is kept as given, not stretched to the result's shape.
struct BinaryNode : Node {
  Shape a_shape, b_shape;
};

// out = op(a, b), with a and b stretched to out's shape.
void compute(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  out.backend().binary(op, out, a.broadcast_to(out.shape()), b.broadcast_to(out.shape()));
}

Tensor apply(BinaryOp op, const char* name, const Variable& a, const Variable& b) {
  require_alike(name, a.value(), b.value());
  require_floating(name, a.value());
  const Tensor out = Tensor::empty(broadcast_shapes(a.shape(), b.shape()), a.value().options());
  compute(op, out, a.value(), b.value());
  return out;
}

struct AddNode final : BinaryNode {
  const char* name() const override { return "add"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    set_summed(grads, 0, a_shape, grad);
    set_summed(grads, 1, b_shape, grad);
  }
};

struct AddReluNode final : BinaryNode {
  Tensor y;

  const char* name() const override { return "add_relu"; }
  void backward(const Tensor& grad_y, InputGrads& grads) override {
    const Tensor grad = grad_before_relu(grad_y, y, grads);
    set_summed(grads, 0, a_shape, grad);
    set_summed(grads, 1, b_shape, grad);
  }
};

struct SubtractNode final : BinaryNode {
  const char* name() const override { return "subtract"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    set_summed(grads, 0, a_shape, grad);
    if (!grads.wanted(1)) return;
    const BroadcastGrad grad_b(grads, 1, b_shape, grad);
    grad.backend().unary(UnaryOp::affine, grad_b.memory(), grad, {.alpha = -1.0});
    grad_b.finish();
  }
};

struct MultiplyNode final : BinaryNode {
  Tensor a, b;  // each kept for the other's gradient

  const char* name() const override { return "multiply"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    if (grads.wanted(0)) scaled(grads, 0, a_shape, grad, b);
    if (grads.wanted(1)) scaled(grads, 1, b_shape, grad, a);
  }
  static void scaled(InputGrads& grads, int i, const Shape& shape, const Tensor& grad, const Tensor& other) {
    const BroadcastGrad g(grads, i, shape, grad);
    compute(BinaryOp::multiply, g.memory(), grad, other);
    g.finish();
  }
};

struct DivideNode final : BinaryNode {
  Tensor b;
  Tensor y;  // a / b; kept for b's gradient

  const char* name() const override { return "divide"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    const Tensor quotient = Tensor::empty(grad.shape(), grad.options());
    compute(BinaryOp::divide, quotient, grad, b);
    set_summed(grads, 0, a_shape, quotient);
    if (!grads.wanted(1)) return;
    // d (a / b) / d b = -y / b
    const BroadcastGrad grad_b(grads, 1, b_shape, grad);
    compute(BinaryOp::multiply, grad_b.memory(), quotient, y);
    grad.backend().unary(UnaryOp::affine, grad_b.memory(), grad_b.memory(), {.alpha = -1.0});
    grad_b.finish();
  }
};

// The larger one gets the gradient; equal ones share it.
struct ExtremumNode final : BinaryNode {
  Tensor a, b;
  bool is_maximum = true;

  const char* name() const override { return is_maximum ? "maximum" : "minimum"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    const Tensor ties = Tensor::empty(grad.shape(), grad.options());
    compute(BinaryOp::equal, ties, a, b);
    if (grads.wanted(0)) masked(grads, 0, grad, ties, is_maximum ? a : b, is_maximum ? b : a);
    if (grads.wanted(1)) masked(grads, 1, grad, ties, is_maximum ? b : a, is_maximum ? a : b);
  }
  // gradient of input i = grad * ((above > below) + ties / 2)
  void masked(InputGrads& grads, int i, const Tensor& grad, const Tensor& ties, const Tensor& above,
              const Tensor& below) {
    const BroadcastGrad g(grads, i, i == 0 ? a_shape : b_shape, grad);
    compute(BinaryOp::greater, g.memory(), above, below);
    grad.backend().accumulate(g.memory(), ties, 0.5);
    compute(BinaryOp::multiply, g.memory(), g.memory(), grad);
    g.finish();
  }
};

template <class N>
std::shared_ptr<N> make_node(const Variable& a, const Variable& b) {
  auto node = std::make_shared<N>();
  node->a_shape = a.shape();
  node->b_shape = b.shape();
  return node;
}

Variable extremum(const Variable& a, const Variable& b, bool is_maximum) {
  const Tensor y =
      is_maximum ? apply(BinaryOp::maximum, "maximum", a, b) : apply(BinaryOp::minimum, "minimum", a, b);
  if (!Node::needed({a, b})) return y;
  auto node = make_node<ExtremumNode>(a, b);
  node->a = a.value();
  node->b = b.value();
  node->is_maximum = is_maximum;
  return Node::record(std::move(node), {a, b}, y);
}

Variable affine(const char* name, const Variable& x, double alpha, double beta) {
  return apply_unary(UnaryOp::affine, name, x, {.alpha = alpha, .beta = beta});
}

// A constant that broadcasts against x.
Variable constant(double value, const Variable& x) {
  return Tensor::full({}, value, x.value().options());
}

}  // namespace

Variable operator+(const Variable& a, const Variable& b) {
  const Tensor y = apply(BinaryOp::add, "add", a, b);
  if (!Node::needed({a, b})) return y;
  return Node::record(make_node<AddNode>(a, b), {a, b}, y);
}

Variable add_relu(const Variable& a, const Variable& b) {
  const Tensor y = apply(BinaryOp::add_relu, "add_relu", a, b);
  if (!Node::needed({a, b})) return y;
  auto node = make_node<AddReluNode>(a, b);
  node->y = y;
  return Node::record(std::move(node), {a, b}, y);
}

Variable operator-(const Variable& a, const Variable& b) {
  const Tensor y = apply(BinaryOp::subtract, "subtract", a, b);
  if (!Node::needed({a, b})) return y;
  return Node::record(make_node<SubtractNode>(a, b), {a, b}, y);
}

Variable operator*(const Variable& a, const Variable& b) {
  const Tensor y = apply(BinaryOp::multiply, "multiply", a, b);
  if (!Node::needed({a, b})) return y;
  auto node = make_node<MultiplyNode>(a, b);
  if (a.requires_grad()) node->b = b.value();
  if (b.requires_grad()) node->a = a.value();
  return Node::record(std::move(node), {a, b}, y);
}

Variable operator/(const Variable& a, const Variable& b) {
  const Tensor y = apply(BinaryOp::divide, "divide", a, b);
  if (!Node::needed({a, b})) return y;
  auto node = make_node<DivideNode>(a, b);
  node->b = b.value();
  if (b.requires_grad()) node->y = y;
  return Node::record(std::move(node), {a, b}, y);
}

Variable operator+(const Variable& a, double b) {
  return affine("add", a, 1.0, b);
}
Variable operator-(const Variable& a, double b) {
  return affine("subtract", a, 1.0, -b);
}
Variable operator*(const Variable& a, double b) {
  return affine("multiply", a, b, 0.0);
}
Variable operator/(const Variable& a, double b) {
  return a / constant(b, a);
}
Variable operator+(double a, const Variable& b) {
  return affine("add", b, 1.0, a);
}
Variable operator-(double a, const Variable& b) {
  return affine("subtract", b, -1.0, a);
}
Variable operator*(double a, const Variable& b) {
  return affine("multiply", b, a, 0.0);
}
Variable operator/(double a, const Variable& b) {
  return constant(a, b) / b;
}

Variable maximum(const Variable& a, const Variable& b) {
  return extremum(a, b, true);
}

Variable minimum(const Variable& a, const Variable& b) {
  return extremum(a, b, false);
}

}  // namespace ronde::inline v0
