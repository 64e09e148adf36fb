#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/window.h"

namespace ronde::inline v0 {
namespace {

struct PoolNode : Node {
  Pool2dParams params;
};

struct MaxPoolNode final : PoolNode {
  Tensor argmax;  // within each window; all that is kept

  const char* name() const override { return "max_pool2d"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    grad.backend().max_pool2d_backward(grads.out(0), grad.contiguous(), argmax, params);
  }
};

struct AveragePoolNode final : PoolNode {
  const char* name() const override { return "average_pool2d"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    grad.backend().average_pool2d_backward(grads.out(0), grad.contiguous(), params);
  }
};

struct Pooling {
  Tensor x, y;
  PlacedPool placed;
};

Pooling prepare(const char* op, const Variable& x, const Pool2dOptions& options) {
  require_rank(op, "input", x.value(), 4, "(n, h, w, c)");
  require_floating(op, x.value());
  const PlacedPool placed = place_pool(op, image_size(x.value()), options);
  const Shape shape{x.size(0), placed.out.h, placed.out.w, x.size(3)};
  return {x.value().contiguous(), Tensor::empty(shape, x.value().options()), placed};
}

}  // namespace

Variable max_pool2d(const Variable& x, Pool2dOptions options) {
  const Pooling p = prepare("max_pool2d", x, options);
  const Tensor argmax =
      Tensor::empty(p.y.shape(), {.dtype = p.placed.argmax_type, .backend = &p.y.backend()});
  p.y.backend().max_pool2d(p.y, argmax, p.x, p.placed.params);
  if (!Node::needed({x})) return p.y;
  auto node = std::make_shared<MaxPoolNode>();
  node->params = p.placed.params;
  node->argmax = argmax;
  return Node::record(std::move(node), {x}, p.y);
}

Variable average_pool2d(const Variable& x, Pool2dOptions options) {
  const Pooling p = prepare("average_pool2d", x, options);
  p.y.backend().average_pool2d(p.y, p.x, p.placed.params);
  if (!Node::needed({x})) return p.y;
  auto node = std::make_shared<AveragePoolNode>();
  node->params = p.placed.params;
  return Node::record(std::move(node), {x}, p.y);
}

Variable global_average_pool2d(const Variable& x) {
  require_rank("global_average_pool2d", "input", x.value(), 4, "(n, h, w, c)");
  return mean(x, {.axes = {1, 2}});
}

}  // namespace ronde::inline v0
