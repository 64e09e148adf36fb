#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

struct CastNode final : Node {
  const char* name() const override { return "cast"; }
  void backward(const Tensor& grad, InputGrads& grads) override { grad.backend().copy(grads.out(0), grad); }
};

}  // namespace

Variable cast(const Variable& x, DType dtype) {
  require(is_floating(dtype), "[cast] to ", dtype,
          ", which is not a floating dtype; tensor.to(DType::", dtype,
          ") converts values, without a gradient");
  require(is_floating(x.dtype()), "[cast] expects a floating dtype, got ", x.value(),
          "; tensor.to(DType::", dtype, ") converts integers");
  if (dtype == x.dtype()) return x;
  const Tensor y = x.value().to(dtype);
  if (!Node::needed({x})) return y;
  return Node::record(std::make_shared<CastNode>(), {x}, y);
}

}  // namespace ronde::inline v0
