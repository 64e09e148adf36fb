#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "autograd/variable_state.h"
#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

struct SoftmaxNode final : Node {
  Tensor y;

  const char* name() const override { return "softmax"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    y.backend().softmax_backward(grads.out(0), grad.contiguous(), y);
  }
};

struct LogSoftmaxNode final : Node {
  Tensor y;

  const char* name() const override { return "log_softmax"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    y.backend().log_softmax_backward(grads.out(0), grad.contiguous(), y);
  }
};

template <class N>
Variable record(const Variable& x, const Tensor& y) {
  if (!Node::needed({x})) return y;
  auto node = std::make_shared<N>();
  node->y = y;
  return Node::record(std::move(node), {x}, y);
}

void check(const char* op, const Tensor& x) {
  require_floating(op, x);
  require(x.rank() > 0, "[", op, "] a scalar has no axis to normalise over");
}

}  // namespace

Variable softmax(const Variable& x) {
  check("softmax", x.value());
  const Tensor value = Tensor::empty_like(x.value());
  value.backend().softmax(value, x.value().contiguous());
  Variable y = record<SoftmaxNode>(x, value);
  Variable::State::set_origin(y, Variable::State::Origin::softmax, {x});
  return y;
}

Variable log_softmax(const Variable& x) {
  check("log_softmax", x.value());
  const Tensor value = Tensor::empty_like(x.value());
  value.backend().log_softmax(value, x.value().contiguous());
  return record<LogSoftmaxNode>(x, value);
}

Variable softmax_input(const Variable& y) {
  return Variable::State::input_of(y, Variable::State::Origin::softmax);
}

}  // namespace ronde::inline v0
