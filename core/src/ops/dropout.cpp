#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

// The mask is a function of the keys, so it is made again rather than kept.
struct DropoutNode final : Node {
  Tensor sample_keys;
  DropoutParams params;

  const char* name() const override { return "dropout"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    grad.backend().dropout(grads.out_in_place(0), grad.contiguous(), sample_keys, params);
  }
};

}  // namespace

Variable dropout(const Variable& x, const Tensor& sample_keys, DropoutParams params) {
  if (params.rate == 0.0) return x;
  require_dropout(x.value(), sample_keys, params);
  const Tensor keys = sample_keys.contiguous();
  const Tensor y = Tensor::empty_like(x.value());
  y.backend().dropout(y, x.value().contiguous(), keys, params);
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<DropoutNode>();
  node->sample_keys = keys;
  node->params = params;
  return Node::record(std::move(node), {x}, y);
}

}  // namespace ronde::inline v0
