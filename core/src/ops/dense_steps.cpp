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

}  // namespace

// The results of all steps as one tensor, which the weights made: each step gives the gradient of its range.
struct DenseSteps::Rows final : Node {
  Tensor x;                // (steps, n, in), the inputs of the steps so far
  std::int64_t steps = 0;  // so far

  const char* name() const override { return "dense_steps"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = as_rows(grad_out.slice(0, 0, steps));
    const Tensor bias = grads.wanted(1) ? grads.out(1) : Tensor();
    if (grads.wanted(0))
      grad.backend().dense_backward_weight(grads.out(0), bias, grad, as_rows(x.slice(0, 0, steps)));
    else if (grads.wanted(1))
      bias_grad(bias, grad);
  }
};

DenseSteps::DenseSteps(const Variable& weight, const Variable& bias, std::int64_t steps)
    : weight_(weight), bias_(bias), steps_(steps) {}

void DenseSteps::begin(const Tensor& x) {
  kernel_ = weight_value(weight_.value(), x);
  if (!Node::needed({weight_, bias_})) return;
  const auto room = [&](std::int64_t width) {
    return Tensor::empty({steps_, x.size(0), width}, x.options());
  };
  rows_ = std::make_shared<Rows>();
  if (weight_.requires_grad()) rows_->x = room(x.size(1));
  outputs_ = Node::record(rows_, {weight_, bias_}, room(weight_.size(1)));
}

/// Where the next result goes, behind those of the steps before if the weights have a gradient.
Tensor DenseSteps::keep(const Tensor& x) {
  const std::int64_t n = x.size(0), units = weight_.size(1);
  require(rows_ || !Node::needed({weight_, bias_}), "[dense_steps] the first step was not recorded");
  if (!rows_) return Tensor::empty({n, units}, x.options());
  require(n == outputs_.size(1), "[dense_steps] the first step had ", counted(outputs_.size(1), "row"),
          ", step ", done_, " has ", n);
  const auto now = [&](const Tensor& all) { return all.slice(0, done_, done_ + 1); };
  if (rows_->x.defined()) now(rows_->x).copy_from(x.reshape({1, n, x.size(1)}));
  rows_->steps = done_ + 1;
  return now(outputs_.value()).reshape({n, units});
}

Variable DenseSteps::operator()(const Variable& x) {
  const Tensor input = x.value().contiguous();
  require_dense("dense_steps", input, weight_.value(), bias_);
  require(done_ < steps_, "[dense_steps] was made for ", counted(steps_, "step"));
  if (done_ == 0) begin(input);
  const Tensor y = keep(input);
  y.backend().dense(y, input, kernel_, dense_value(bias_), Epilogue::none);
  const std::int64_t step = done_++;
  if (!Node::needed({outputs_, x})) return y;
  auto node = std::make_shared<DenseStepNode>();
  node->step = step;
  if (x.requires_grad()) node->kernel = kernel_;
  return Node::record(std::move(node), {outputs_, x}, y);
}

}  // namespace ronde::inline v0
