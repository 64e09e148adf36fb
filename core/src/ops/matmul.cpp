#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

Tensor transposed(const Tensor& x) {
  return x.rank() == 2 ? x.permute({1, 0}) : x.permute({0, 2, 1});
}

/// As it lies in memory, dense: itself, or its transpose where that needs no copy.
struct Factor {
  Tensor memory = {};
  bool is_turned = false;

  explicit Factor(const Tensor& x) : memory(x) {
    if (x.is_contiguous()) return;
    const Tensor turned = transposed(x);
    is_turned = turned.is_contiguous();
    memory = is_turned ? turned : x.contiguous();
  }
};

/// x y, each transposed if `params` says so.
Tensor product(const Tensor& x, const Tensor& y, MatmulParams params) {
  Shape shape = x.shape();
  shape[-2] = x.size(params.transpose_a ? -1 : -2);
  shape[-1] = y.size(params.transpose_b ? -2 : -1);
  const Tensor result = Tensor::empty(shape, x.options());
  x.backend().matmul(result, x, y, params);
  return result;
}

struct MatmulNode final : Node {
  Factor a, b;  // each kept for the other's gradient

  MatmulNode(const Factor& first, const Factor& second) : a(first), b(second) {}
  const char* name() const override { return "matmul"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = grad_out.contiguous();
    // Of a factor that is transposed first the gradient of what lies in memory.
    if (grads.wanted(0) && a.is_turned)
      grads.set(0, transposed(product(b.memory, grad, {.transpose_a = b.is_turned, .transpose_b = true})));
    else if (grads.wanted(0))
      grad.backend().matmul(grads.out(0), grad, b.memory, {.transpose_b = !b.is_turned});
    if (grads.wanted(1) && b.is_turned)
      grads.set(1, transposed(product(grad, a.memory, {.transpose_a = true, .transpose_b = a.is_turned})));
    else if (grads.wanted(1))
      grad.backend().matmul(grads.out(1), a.memory, grad, {.transpose_a = !a.is_turned});
  }
};

void check_shapes(const Tensor& a, const Tensor& b) {
  require_alike("matmul", a, b);
  require_floating("matmul", a);
  require(a.rank() == b.rank() && (a.rank() == 2 || a.rank() == 3), "[matmul] ", a.shape(), " x ", b.shape(),
          ": expects two matrices, or two stacks of them",
          a.rank() > 3 ? ". Reshape further batch axes into one, (n, h, t, d) into (n * h, t, d)" : "");
  require(a.rank() == 2 || a.size(0) == b.size(0), "[matmul] ", a.shape(), " x ", b.shape(),
          ": batch extents ", a.size(0), " and ", b.size(0), " differ");
  require(a.size(-1) == b.size(-2), "[matmul] ", a.shape(), " x ", b.shape(), ": inner extents ", a.size(-1),
          " and ", b.size(-2), " differ");
}

}  // namespace

Variable matmul(const Variable& a, const Variable& b) {
  check_shapes(a.value(), b.value());
  const Factor x(a.value()), w(b.value());
  const Tensor y = product(x.memory, w.memory, {.transpose_a = x.is_turned, .transpose_b = w.is_turned});
  if (!Node::needed({a, b})) return y;
  auto node = std::make_shared<MatmulNode>(x, w);
  if (!b.requires_grad()) node->a.memory = {};
  if (!a.requires_grad()) node->b.memory = {};
  return Node::record(std::move(node), {a, b}, y);
}

}  // namespace ronde::inline v0
