#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

struct MatmulNode final : Node {
  Tensor a, b;  // each kept for the other's gradient

  const char* name() const override { return "matmul"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = grad_out.contiguous();
    if (grads.wanted(0)) grad.backend().matmul(grads.out(0), grad, b, {.transpose_b = true});
    if (grads.wanted(1)) grad.backend().matmul(grads.out(1), a, grad, {.transpose_a = true});
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
  const Tensor dense_a = a.value().contiguous(), dense_b = b.value().contiguous();
  Shape shape = a.shape();
  shape[-1] = b.size(-1);
  const Tensor y = Tensor::empty(shape, dense_a.options());
  y.backend().matmul(y, dense_a, dense_b, {});
  if (!Node::needed({a, b})) return y;
  auto node = std::make_shared<MatmulNode>();
  if (b.requires_grad()) node->a = dense_a;
  if (a.requires_grad()) node->b = dense_b;
  return Node::record(std::move(node), {a, b}, y);
}

}  // namespace ronde::inline v0
