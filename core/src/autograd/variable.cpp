#include <ronde/core/variable.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "autograd/engine.h"
#include "autograd/gradient_range.h"
#include "autograd/release.h"
#include "autograd/variable_state.h"

namespace ronde::inline v0 {
namespace {

void require_memory(const Tensor& memory, const Tensor& value, const char* what) {
  require(memory.defined() && memory.is_contiguous() && memory.shape() == value.shape() &&
              memory.dtype() == value.dtype() && &memory.backend() == &value.backend(),
          "[bind] ", what, " memory must be dense ", value, " on the same backend, got ", memory);
}

}  // namespace

Variable::State::~State() {
  release(std::move(node));
  for (std::shared_ptr<State>& origin : origins) release(std::move(origin));
}

void Variable::State::accumulate(const Tensor& contribution, bool is_ours) {
  if (has_grad) return value.backend().accumulate(grad, contribution, 1.0);
  has_grad = true;
  if (grad_bound)
    grad.copy_from(contribution);
  else
    grad = is_ours ? contribution : contribution.clone();
}

void Variable::State::accumulate_range(const InputGrads::Range& range, const Tensor& contribution) {
  if (has_grad) return add_to_range(grad, range, contribution);
  if (!grad_bound) grad = Tensor::empty_like(value);
  write_range(grad, range, contribution);
  has_grad = true;
}

void Variable::State::set_origin(const Variable& y, Origin how, const std::vector<Variable>& inputs) {
  y.state_->made_by = how;
  for (const Variable& input : inputs) {
    const State& state = *input.state_;
    const bool has_past = state.requires_grad || !state.origins.empty();
    // Parts of rows keep their logits, which have no past themselves.
    const bool is_part = how == Origin::rows && state.made_by != Origin::rows;
    const bool is_kept = y.requires_grad() || !has_past || is_part;
    y.state_->origins.push_back(is_kept ? input.state_ : std::make_shared<State>(state.value));
  }
}

std::vector<Variable> Variable::State::origin(const Variable& y, Origin how) {
  std::vector<Variable> inputs;
  if (y.defined() && y.state_->made_by == how)
    for (const std::shared_ptr<State>& input : y.state_->origins) inputs.push_back(Variable(input));
  return inputs;
}

Variable Variable::State::input_of(const Variable& y, Origin how) {
  const std::vector<Variable> inputs = origin(y, how);
  return inputs.empty() ? Variable() : inputs.front();
}

Variable::Variable(Tensor value) : state_(std::make_shared<State>(std::move(value))) {
  require(state_->value.defined(), "[variable] made of a tensor that is undefined");
}

Variable Variable::parameter(Tensor value) {
  Variable variable(std::move(value));
  variable.set_requires_grad(true);
  return variable;
}

const Tensor& Variable::value() const {
  require(defined(), "[variable] used before it was given a value");
  return state_->value;
}

bool Variable::requires_grad() const {
  return defined() && state_->requires_grad;
}

void Variable::set_requires_grad(bool requires_grad) {
  require(is_leaf(), "[requires_grad] only a leaf can be frozen, this is the result of '",
          is_leaf() ? "" : node()->name(), "'");
  require(!requires_grad || is_floating(dtype()), "[requires_grad] gradients need a floating dtype, got ",
          dtype());
  state_->requires_grad = requires_grad;
}

const std::shared_ptr<Node>& Variable::node() const {
  static const std::shared_ptr<Node> none;
  return defined() ? state_->node : none;
}

Tensor Variable::grad() const {
  return defined() && state_->has_grad ? state_->grad : Tensor();
}

void Variable::zero_grad() {
  if (!defined()) return;
  state_->has_grad = false;
  if (!state_->grad_bound) state_->grad = {};
}

void Variable::bind(const Tensor& value_memory, const Tensor& grad_memory) {
  require(is_leaf(), "[bind] only a leaf has memory of its own");
  require_memory(value_memory, value(), "value");
  if (grad_memory.defined()) require_memory(grad_memory, value(), "gradient");
  value_memory.copy_from(state_->value);
  state_->value = value_memory;
  if (!grad_memory.defined()) return;
  if (state_->has_grad) grad_memory.copy_from(state_->grad);
  state_->grad = grad_memory;
  state_->grad_bound = true;
}

void Variable::bind_gradient(const Tensor& grad_memory) {
  require(is_leaf(), "[bind] only a leaf has memory of its own");
  require_memory(grad_memory, value(), "gradient");
  state_->grad = grad_memory;
  state_->grad_bound = true;
  state_->has_grad = state_->requires_grad;
}

void Variable::assign(const Tensor& value) {
  require(is_leaf(), "[assign] only a leaf can be given another value");
  require(value.shape() == shape(), "[assign] shape ", value.shape(), " to a variable of shape ", shape());
  state_->value.copy_from(value);
}

Variable Variable::detach() const {
  Variable detached(value());
  detached.mask_ = mask_;
  return detached;
}

const Tensor& Variable::mask() const {
  static const Tensor none;
  return mask_ ? *mask_ : none;
}

void Variable::set_mask(const Tensor& mask) {
  require(!mask.defined() || mask.dtype() == DType::f32, "[set_mask] a mask is f32, got ", mask);
  mask_ = mask.defined() ? std::make_shared<const Tensor>(mask) : nullptr;
}

void Variable::backward(const Tensor& seed) const {
  require(defined(), "[backward] of an undefined variable");
  require(
      requires_grad() || grad_enabled(),
      "[backward] recording is off on this thread, by a NoGrad that is alive: nothing is known of what this "
      "was computed from. End the NoGrad's block, or compute this while an EnableGrad lives");
  require(requires_grad(), "[backward] nothing that this was computed from requires a gradient");
  if (!seed.defined()) {
    require(value().count() == 1, "[backward] a result of shape ", shape(),
            " needs a seed gradient of that shape; only a single element has the default 1");
    return Engine::run(*this, Tensor::full(shape(), 1.0, value().options()));
  }
  require(seed.shape() == shape() && seed.dtype() == dtype() && &seed.backend() == &value().backend(),
          "[backward] the seed must be ", value(), " on the same backend, got ", seed);
  Engine::run(*this, seed);
}

void Variable::on_grad_ready(std::function<void(const Variable&)> hook) {
  require(defined() && is_leaf(), "[on_grad_ready] expects a leaf: only leaves keep gradients");
  state_->hooks.push_back(std::move(hook));
}

}  // namespace ronde::inline v0
