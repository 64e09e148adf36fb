#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"
#include "ops/gradients.h"
#include "ops/in_f32.h"

namespace ronde::inline v0 {
namespace {

// Rows of all steps in [begin, end) of a tensor (steps, n, values).
Tensor rows_of_steps(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return x.slice(0, begin, end).reshape({(end - begin) * x.size(1), x.size(2)});
}

// grad (units, k * units) of the kernel by which states (steps, n, units) were multiplied, of that of the
// products (steps, n, k * units): what a state was multiplied for comes one step later.
void kernel_grad(const Tensor& grad, const Tensor& grad_products, const Tensor& states,
                 RecurrentParams params) {
  const std::int64_t last = states.size(0) - 1, later = params.backwards ? 0 : 1, before = 1 - later;
  grad.backend().dense_backward_weight(grad, {}, rows_of_steps(grad_products, later, later + last),
                                       rows_of_steps(states, before, before + last));
}

// What both layers get, as their kernels take it.
struct RecurrentInputs {
  Tensor x, recurrent_kernel, mask;  // the mask may be undefined
  std::int64_t steps, n, units;

  RecurrentInputs(const char* op, const Variable& input, const Variable& kernel, const Tensor& given_mask,
                  std::int64_t gates)
      : x(input.value().contiguous()), recurrent_kernel(kernel.value().contiguous()) {
    require_floating(op, x);
    require_rank(op, "x", x, 3, "(steps, n, gates * units)");
    require_alike(op, x, recurrent_kernel);
    steps = x.size(0), n = x.size(1), units = x.size(2) / gates;
    require(steps > 0, "[", op, "] x has no steps, got shape ", x.shape());
    require(x.size(2) % gates == 0 && recurrent_kernel.shape() == Shape{units, gates * units}, "[", op,
            "] x (steps, n, ", gates, " * units) and recurrent_kernel (units, ", gates,
            " * units) do not fit, got shapes ", x.shape(), " and ", recurrent_kernel.shape());
    require(!given_mask.defined() || given_mask.shape() == Shape{steps, n}, "[", op, "] x of shape ",
            x.shape(), " needs a mask of shape ", Shape{steps, n}, ", got ", given_mask);
    if (given_mask.defined()) mask = given_mask.to(x.dtype()).to(x.backend()).contiguous();
  }

  // For the gates of all steps; unless they are kept, each step's in the same place.
  Tensor room_for_gates(bool kept) const {
    const Shape shape{steps, n, 4 * units};
    return kept ? Tensor::empty(shape, x.options())
                : Tensor::empty({1, n, 4 * units}, x.options()).broadcast_to(shape);
  }
};

struct LstmNode final : Node {
  Tensor states;  // undefined unless recurrent_kernel wants a gradient
  Tensor memories, gates, recurrent_kernel, mask;
  RecurrentParams params;

  const char* name() const override { return "lstm"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad_x = grads.wanted(0) ? grads.out(0) : Tensor::empty_like(gates);
    gates.backend().lstm_backward(grad_x, grad_out.contiguous(), memories, gates, recurrent_kernel, mask,
                                  params);
    if (grads.wanted(1)) kernel_grad(grads.out(1), grad_x, states, params);
  }
};

struct GruNode final : Node {
  Tensor states, gates, recurrent_kernel, mask;
  RecurrentParams params;

  const char* name() const override { return "gru"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Shape shape{states.size(0), states.size(1), 3 * states.size(2)};
    const Tensor grad_products = Tensor::empty(shape, states.options());
    const Tensor grad_x = grads.wanted(0) ? grads.out(0) : Tensor::empty_like(grad_products);
    states.backend().gru_backward(grad_x, grad_products, grad_out.contiguous(), states, gates,
                                  recurrent_kernel, mask, params);
    if (grads.wanted(1)) kernel_grad(grads.out(1), grad_products, states, params);
    if (grads.wanted(2)) bias_grad(grads.out(2), grad_products);
  }
};

}  // namespace

Variable lstm(const Variable& x, const Variable& recurrent_kernel, const Tensor& mask,
              RecurrentParams params) {
  if (x.dtype() == DType::bf16)
    return cast(lstm(in_f32(x), in_f32(recurrent_kernel), mask, params), DType::bf16);
  const RecurrentInputs in("lstm", x, recurrent_kernel, mask, 4);
  const Tensor states = Tensor::empty({in.steps, in.n, in.units}, in.x.options());
  const bool is_recorded = Node::needed({x, recurrent_kernel});
  const Tensor memories = Tensor::empty_like(states), gates = in.room_for_gates(is_recorded);
  states.backend().lstm(states, memories, gates, in.x, in.recurrent_kernel, in.mask, params);
  if (!is_recorded) return states;
  auto node = std::make_shared<LstmNode>();
  if (recurrent_kernel.requires_grad()) node->states = states;
  node->memories = memories;
  node->gates = gates;
  node->recurrent_kernel = in.recurrent_kernel;
  node->mask = in.mask;
  node->params = params;
  return Node::record(std::move(node), {x, recurrent_kernel}, states);
}

Variable gru(const Variable& x, const Variable& recurrent_kernel, const Variable& recurrent_bias,
             const Tensor& mask, RecurrentParams params) {
  if (x.dtype() == DType::bf16)
    return cast(gru(in_f32(x), in_f32(recurrent_kernel), in_f32(recurrent_bias), mask, params), DType::bf16);
  const RecurrentInputs in("gru", x, recurrent_kernel, mask, 3);
  const Tensor bias = dense_value(recurrent_bias);
  if (bias.defined()) require_alike("gru", in.x, bias);
  require(!bias.defined() || bias.shape() == Shape{3 * in.units}, "[gru] expects a recurrent_bias of shape ",
          Shape{3 * in.units}, ", got ", bias);
  const Tensor states = Tensor::empty({in.steps, in.n, in.units}, in.x.options());
  const bool is_recorded = Node::needed({x, recurrent_kernel, recurrent_bias});
  const Tensor gates = in.room_for_gates(is_recorded);
  states.backend().gru(states, gates, in.x, in.recurrent_kernel, bias, in.mask, params);
  if (!is_recorded) return states;
  auto node = std::make_shared<GruNode>();
  node->states = states;
  node->gates = gates;
  node->recurrent_kernel = in.recurrent_kernel;
  node->mask = in.mask;
  node->params = params;
  return Node::record(std::move(node), {x, recurrent_kernel, recurrent_bias}, states);
}

}  // namespace ronde::inline v0
