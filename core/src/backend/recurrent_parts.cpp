// Recurrent layers by the kernels that they are made of, step by step: for backends that have none of their
// own, and what the others are tested against.
#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

// A tensor (steps, n, values), whose steps are numbered as they are taken.
struct StepViews {
  Tensor all;
  RecurrentParams params;

  Tensor operator()(std::int64_t step) const {
    const std::int64_t t = params.backwards ? all.size(0) - 1 - step : step;
    return all.slice(0, t, t + 1).reshape({all.size(1), all.size(2)});
  }
};

// Views of a step's gates (n, k * units).
Tensor gate_of(const Tensor& all, std::int64_t gate, std::int64_t units, std::int64_t count = 1) {
  return all.slice(1, gate * units, (gate + count) * units);
}

struct LstmGates {
  Tensor in, forget, fresh, out;

  LstmGates(const Tensor& all, std::int64_t units)
      : in(gate_of(all, 0, units)),
        forget(gate_of(all, 1, units)),
        fresh(gate_of(all, 2, units)),
        out(gate_of(all, 3, units)) {}
};

// Of x and products there are three.
struct GruGates {
  Tensor update, reset, fresh, past;

  GruGates(const Tensor& all, std::int64_t units)
      : update(gate_of(all, 0, units)), reset(gate_of(all, 1, units)), fresh(gate_of(all, 2, units)) {
    if (all.size(1) > 3 * units) past = gate_of(all, 3, units);
  }
};

// Which samples a step counts for, and which it does not, as factors (n, 1); undefined for all.
struct StepMask {
  Backend& backend;
  Tensor counts, rest;

  StepMask(Backend& of, const Tensor& mask, RecurrentParams params, std::int64_t step) : backend(of) {
    if (!mask.defined()) return;
    counts = StepViews{mask.reshape({mask.size(0), mask.size(1), 1}), params}(step);
    rest = Tensor::empty_like(counts);
    backend.unary(UnaryOp::affine, rest, counts, {.alpha = -1.0, .beta = 1.0});
  }
  // x (n, k) = x where it counts, else 0.
  void keep(const Tensor& x) const {
    if (counts.defined()) backend.binary(BinaryOp::multiply, x, x, counts.broadcast_to(x.shape()));
  }
  // The same, else `otherwise`, which is 0 if undefined. Overwrites `room`.
  void pick(const Tensor& x, const Tensor& otherwise, const Tensor& room) const {
    keep(x);
    if (!counts.defined() || !otherwise.defined()) return;
    backend.binary(BinaryOp::multiply, room, otherwise, rest.broadcast_to(x.shape()));
    backend.binary(BinaryOp::add, x, x, room);
  }
};

}  // namespace

void Backend::lstm(const Tensor& states, const Tensor& memories, const Tensor& gates, const Tensor& x,
                   const Tensor& recurrent_kernel, const Tensor& mask, RecurrentParams params) {
  const StepViews state_of{states, params}, memory_of{memories, params}, gates_of{gates, params},
      x_of{x, params};
  const Tensor room = Tensor::empty(states.shape().tail(1), states.options());
  for (std::int64_t t = 0; t < states.size(0); ++t) {
    const Tensor all = gates_of(t), memory = memory_of(t), state = state_of(t);
    const Tensor memory_before = t > 0 ? memory_of(t - 1) : Tensor();
    const Tensor state_before = t > 0 ? state_of(t - 1) : Tensor();
    if (t > 0) {
      matmul(all, state_before, recurrent_kernel, {});
      binary(BinaryOp::add, all, all, x_of(t));
    } else {
      copy(all, x_of(t));
    }
    const LstmGates gate(all, states.size(2));
    for (const Tensor& open : {gate.in, gate.forget, gate.out}) unary(UnaryOp::sigmoid, open, open, {});
    unary(UnaryOp::tanh, gate.fresh, gate.fresh, {});
    binary(BinaryOp::multiply, memory, gate.in, gate.fresh);
    if (t > 0) {
      binary(BinaryOp::multiply, room, gate.forget, memory_before);
      binary(BinaryOp::add, memory, memory, room);
    }
    unary(UnaryOp::tanh, state, memory, {});
    binary(BinaryOp::multiply, state, state, gate.out);
    const StepMask counts(*this, mask, params, t);
    counts.pick(memory, memory_before, room);
    counts.pick(state, state_before, room);
    counts.keep(all);
  }
}

void Backend::lstm_backward(const Tensor& grad_x, const Tensor& grad_states, const Tensor& memories,
                            const Tensor& gates, const Tensor& recurrent_kernel, const Tensor& mask,
                            RecurrentParams params) {
  const StepViews memory_of{memories, params}, gates_of{gates, params}, grad_x_of{grad_x, params},
      grad_states_of{grad_states, params};
  const Shape shape = memories.shape().tail(1);
  const auto empty = [&] { return Tensor::empty(shape, memories.options()); };
  const Tensor grad_state = empty(), grad_memory = empty(), later = empty(), shown = empty(), part = empty();
  const Tensor state_past = empty(), memory_past = empty();  // of samples that a step leaves out
  fill(later, 0.0);
  fill(grad_memory, 0.0);
  for (std::int64_t t = memories.size(0); t-- > 0;) {
    const LstmGates gate(gates_of(t), memories.size(2)), grad(grad_x_of(t), memories.size(2));
    const StepMask counts(*this, mask, params, t);
    // What a gate gets: that of its result, back through its activation.
    const auto give = [&](UnaryOp op, const Tensor& to, const Tensor& y, const Tensor& a, const Tensor& b) {
      binary(BinaryOp::multiply, part, a, b);
      unary_backward(op, to, part, {}, y, {});
    };
    binary(BinaryOp::add, grad_state, grad_states_of(t), later);
    if (mask.defined()) {
      copy(state_past, grad_state);
      copy(memory_past, grad_memory);
    }
    counts.keep(grad_state);
    counts.keep(grad_memory);
    unary(UnaryOp::tanh, shown, memory_of(t), {});
    give(UnaryOp::sigmoid, grad.out, gate.out, grad_state, shown);
    give(UnaryOp::tanh, part, shown, grad_state, gate.out);
    binary(BinaryOp::add, grad_memory, grad_memory, part);
    give(UnaryOp::sigmoid, grad.in, gate.in, grad_memory, gate.fresh);
    give(UnaryOp::tanh, grad.fresh, gate.fresh, grad_memory, gate.in);
    if (t == 0) return fill(grad.forget, 0.0);
    give(UnaryOp::sigmoid, grad.forget, gate.forget, grad_memory, memory_of(t - 1));
    binary(BinaryOp::multiply, grad_memory, grad_memory, gate.forget);
    matmul(later, grad_x_of(t), recurrent_kernel, {.transpose_b = true});
    counts.pick(later, state_past, part);
    counts.pick(grad_memory, memory_past, part);
  }
}

void Backend::gru(const Tensor& states, const Tensor& gates, const Tensor& x, const Tensor& recurrent_kernel,
                  const Tensor& recurrent_bias, const Tensor& mask, RecurrentParams params) {
  const StepViews state_of{states, params}, gates_of{gates, params}, x_of{x, params};
  const std::int64_t units = states.size(2);
  const Tensor room = Tensor::empty(states.shape().tail(1), states.options());
  const Tensor products = Tensor::empty(x.shape().tail(1), x.options());
  for (std::int64_t t = 0; t < states.size(0); ++t) {
    const Tensor all = gates_of(t), state = state_of(t), input = x_of(t);
    const Tensor before = t > 0 ? state_of(t - 1) : Tensor();
    if (t > 0)
      matmul(products, before, recurrent_kernel, {});
    else
      fill(products, 0.0);
    if (recurrent_bias.defined())
      binary(BinaryOp::add, products, products, recurrent_bias.broadcast_to(products.shape()));
    const GruGates gate(all, units);
    const Tensor both = gate_of(all, 0, units, 2);
    binary(BinaryOp::add, both, gate_of(products, 0, units, 2), gate_of(input, 0, units, 2));
    unary(UnaryOp::sigmoid, both, both, {});
    copy(gate.past, gate_of(products, 2, units));
    binary(BinaryOp::multiply, gate.fresh, gate.reset, gate.past);
    binary(BinaryOp::add, gate.fresh, gate.fresh, gate_of(input, 2, units));
    unary(UnaryOp::tanh, gate.fresh, gate.fresh, {});
    if (t > 0)
      binary(BinaryOp::subtract, state, before, gate.fresh);
    else
      unary(UnaryOp::affine, state, gate.fresh, {.alpha = -1.0, .beta = 0.0});
    binary(BinaryOp::multiply, state, state, gate.update);
    binary(BinaryOp::add, state, state, gate.fresh);
    const StepMask counts(*this, mask, params, t);
    counts.pick(state, before, room);
    counts.keep(all);
  }
}

void Backend::gru_backward(const Tensor& grad_x, const Tensor& grad_products, const Tensor& grad_states,
                           const Tensor& states, const Tensor& gates, const Tensor& recurrent_kernel,
                           const Tensor& mask, RecurrentParams params) {
  const StepViews state_of{states, params}, gates_of{gates, params}, grad_x_of{grad_x, params},
      grad_products_of{grad_products, params}, grad_states_of{grad_states, params};
  const std::int64_t units = states.size(2);
  const auto empty = [&] { return Tensor::empty(states.shape().tail(1), states.options()); };
  const Tensor grad_state = empty(), later = empty(), direct = empty(), part = empty(), past = empty();
  fill(later, 0.0);
  fill(direct, 0.0);
  for (std::int64_t t = states.size(0); t-- > 0;) {
    const GruGates gate(gates_of(t), units), grad(grad_x_of(t), units),
        grad_product(grad_products_of(t), units);
    const StepMask counts(*this, mask, params, t);
    binary(BinaryOp::add, grad_state, grad_states_of(t), later);
    binary(BinaryOp::add, grad_state, grad_state, direct);
    if (mask.defined()) copy(past, grad_state);
    counts.keep(grad_state);
    binary(BinaryOp::multiply, direct, grad_state, gate.update);
    binary(BinaryOp::subtract, part, grad_state, direct);  // times 1 - update
    unary_backward(UnaryOp::tanh, grad.fresh, part, {}, gate.fresh, {});
    if (t > 0)
      binary(BinaryOp::subtract, part, state_of(t - 1), gate.fresh);
    else
      unary(UnaryOp::affine, part, gate.fresh, {.alpha = -1.0, .beta = 0.0});
    binary(BinaryOp::multiply, part, part, grad_state);
    unary_backward(UnaryOp::sigmoid, grad.update, part, {}, gate.update, {});
    binary(BinaryOp::multiply, part, grad.fresh, gate.past);
    unary_backward(UnaryOp::sigmoid, grad.reset, part, {}, gate.reset, {});
    copy(gate_of(grad_products_of(t), 0, units, 2), gate_of(grad_x_of(t), 0, units, 2));
    binary(BinaryOp::multiply, grad_product.fresh, grad.fresh, gate.reset);
    counts.pick(direct, past, part);
    if (t > 0) matmul(later, grad_products_of(t), recurrent_kernel, {.transpose_b = true});
  }
}

}  // namespace ronde::inline v0
