#include <ronde/core/dense_steps.h>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"
#include "ops/gradients.h"

namespace ronde::inline v0 {
namespace {

Tensor as_rows(const Tensor& steps) {
  return steps.contiguous().reshape({steps.size(0) * steps.size(1), steps.size(2)});
}

struct DenseStepNode final : Node {
  std::int64_t step = 0;
  Tensor kernel;  // (in, units)

  const char* name() const override { return "dense_step"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = grad_out.contiguous();
    if (grads.wanted(0))
      grads.set_range(0, {0, step, step + 1}, grad.reshape({1, grad.size(0), grad.size(1)}));
    if (grads.wanted(1)) grad.backend().matmul(grads.out(1), grad, kernel, {.transpose_b = true});
  }
};

// The results of all steps as one tensor, which the weights made: each step gives the gradient of its range.
struct DenseStepsNode final : Node {
  Tensor x;  // (steps, n, in)

  const char* name() const override { return "dense_steps"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = as_rows(grad_out), bias = grads.wanted(1) ? grads.out(1) : Tensor();
    if (grads.wanted(0))
      grad.backend().dense_backward_weight(grads.out(0), bias, grad, as_rows(x));
    else if (grads.wanted(1))
      bias_grad(bias, grad);
  }
};

}  // namespace

DenseSteps::DenseSteps(const Variable& weight, const Variable& bias, std::int64_t steps)
    : weight_(weight), bias_(bias), steps_(steps) {}

void DenseSteps::begin(const Tensor& x) {
  kernel_ = weight_value(weight_.value(), x);
  if (!Node::needed({weight_, bias_})) return;
  auto node = std::make_shared<DenseStepsNode>();
  if (weight_.requires_grad()) node->x = inputs_ = Tensor::zeros({steps_, x.size(0), x.size(1)}, x.options());
  // Nobody reads this value: each step has its own.
  const Tensor value = Tensor::empty({1}, x.options()).broadcast_to({steps_, x.size(0), weight_.size(1)});
  results_ = Node::record(std::move(node), {weight_, bias_}, value);
}

Variable DenseSteps::operator()(const Variable& x) {
  const Tensor input = x.value().contiguous();
  require_dense("dense_steps", input, weight_.value(), bias_);
  require(done_ < steps_, "[dense_steps] was made for ", counted(steps_, "step"));
  if (done_ == 0) begin(input);
  require(results_.defined() || !Node::needed({weight_, bias_}),
          "[dense_steps] the first step was not recorded");
  const std::int64_t n = input.size(0), rows = results_.defined() ? results_.size(1) : n;
  require(n == rows, "[dense_steps] the first step had ", counted(rows, "row"), ", step ", done_, " has ", n);
  const Tensor y = Tensor::empty({n, weight_.size(1)}, input.options());
  y.backend().dense(y, input, kernel_, dense_value(bias_), Epilogue::none);
  const std::int64_t step = done_++;
  if (inputs_.defined()) inputs_.slice(0, step, done_).copy_from(input.reshape({1, n, input.size(1)}));
  if (!Node::needed({results_, x})) return y;
  auto node = std::make_shared<DenseStepNode>();
  node->step = step;
  if (x.requires_grad()) node->kernel = kernel_;
  return Node::record(std::move(node), {results_, x}, y);
}

}  // namespace ronde::inline v0
