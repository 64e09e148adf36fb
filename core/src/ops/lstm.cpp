#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

// Rows of all steps in [begin, end) of a tensor (steps, n, values).
Tensor rows_of_steps(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return x.slice(0, begin, end).reshape({(end - begin) * x.size(1), x.size(2)});
}

struct LstmNode final : Node {
  Tensor states;  // undefined unless recurrent_kernel wants a gradient
  Tensor memories, gates, recurrent_kernel, mask;
  LstmParams params;

  const char* name() const override { return "lstm"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    Backend& backend = gates.backend();
    const Tensor grad_x = grads.wanted(0) ? grads.out(0) : Tensor::empty_like(gates);
    backend.lstm_backward(grad_x, grad_out.contiguous(), memories, gates, recurrent_kernel, mask, params);
    if (!grads.wanted(1)) return;
    // What a state was multiplied for comes one step later.
    const std::int64_t last = states.size(0) - 1, later = params.backwards ? 0 : 1, before = 1 - later;
    backend.dense_backward_weight(grads.out(1), {}, rows_of_steps(grad_x, later, later + last),
                                  rows_of_steps(states, before, before + last));
  }
};

}  // namespace

Variable lstm(const Variable& x, const Variable& recurrent_kernel, const Tensor& mask, LstmParams params) {
  if (x.dtype() == DType::bf16)
    return cast(lstm(cast(x, DType::f32), cast(recurrent_kernel, DType::f32), mask, params), DType::bf16);
  const Tensor input = x.value().contiguous(), weight = recurrent_kernel.value().contiguous();
  require_floating("lstm", input);
  require_rank("lstm", "x", input, 3, "(steps, n, 4 * units)");
  require_alike("lstm", input, weight);
  const std::int64_t steps = input.size(0), n = input.size(1), units = input.size(2) / 4;
  require(steps > 0, "[lstm] x has no steps, got shape ", input.shape());
  require(input.size(2) % 4 == 0 && weight.shape() == Shape{units, 4 * units},
          "[lstm] x (steps, n, 4 * units) and recurrent_kernel (units, 4 * units) do not fit, got shapes ",
          input.shape(), " and ", weight.shape());
  require(!mask.defined() || mask.shape() == Shape{steps, n}, "[lstm] x of shape ", input.shape(),
          " needs a mask of shape ", Shape{steps, n}, ", got ", mask);
  const Tensor counts = mask.defined() ? mask.to(input.dtype()).contiguous() : Tensor();
  const Tensor states = Tensor::empty({steps, n, units}, input.options());
  const Tensor memories = Tensor::empty_like(states), gates = Tensor::empty_like(input);
  input.backend().lstm(states, memories, gates, input, weight, counts, params);
  if (!Node::needed({x, recurrent_kernel})) return states;
  auto node = std::make_shared<LstmNode>();
  if (recurrent_kernel.requires_grad()) node->states = states;
  node->memories = memories;
  node->gates = gates;
  node->recurrent_kernel = weight;
  node->mask = counts;
  node->params = params;
  return Node::record(std::move(node), {x, recurrent_kernel}, states);
}

}  // namespace ronde::inline v0
