#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

Tensor transposed(const Tensor& x) {
  return x.rank() == 2 ? x.permute({1, 0}) : x.permute({0, 2, 1});
}

/// Whether it is dense as its transpose: then that is multiplied, and nothing copied.
bool is_turned(const Tensor& x) {
  return !x.is_contiguous() && transposed(x).is_contiguous();
}

struct MatmulNode final : Node {
  Tensor a, b;  // in memory; each kept for the other's gradient
  bool turns_a = false, turns_b = false;
  Shape a_shape, b_shape;  // in memory

  const char* name() const override { return "matmul"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = grad_out.contiguous();
    if (grads.wanted(0) && turns_a)
      set_turned(grads, 0, a_shape, b, grad, {.transpose_a = turns_b, .transpose_b = true});
    else if (grads.wanted(0))
      grad.backend().matmul(grads.out(0), grad, b, {.transpose_b = !turns_b});
    if (grads.wanted(1) && turns_b)
      set_turned(grads, 1, b_shape, grad, a, {.transpose_a = true, .transpose_b = turns_a});
    else if (grads.wanted(1))
      grad.backend().matmul(grads.out(1), a, grad, {.transpose_a = !turns_a});
  }

 private:
  /// The gradient of a factor that is transposed: first of what lies in memory.
  static void set_turned(InputGrads& grads, int input, const Shape& shape, const Tensor& x, const Tensor& y,
                         MatmulParams params) {
    const Tensor memory = Tensor::empty(shape, x.options());
    x.backend().matmul(memory, x, y, params);
    grads.set(input, transposed(memory));
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
  const bool turns_a = is_turned(a.value()), turns_b = is_turned(b.value());
  const Tensor in_a = turns_a ? transposed(a.value()) : a.value().contiguous();
  const Tensor in_b = turns_b ? transposed(b.value()) : b.value().contiguous();
  Shape shape = a.shape();
  shape[-1] = b.size(-1);
  const Tensor y = Tensor::empty(shape, in_a.options());
  y.backend().matmul(y, in_a, in_b, {.transpose_a = turns_a, .transpose_b = turns_b});
  if (!Node::needed({a, b})) return y;
  auto node = std::make_shared<MatmulNode>();
  if (b.requires_grad()) node->a = in_a;
  if (a.requires_grad()) node->b = in_b;
  node->turns_a = turns_a;
  node->turns_b = turns_b;
  node->a_shape = in_a.shape();
  node->b_shape = in_b.shape();
  return Node::record(std::move(node), {a, b}, y);
}

}  // namespace ronde::inline v0
