#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/packed_operand.h"
#include "backend/onednn/recurrent_rows.h"

namespace ronde::inline v0 {

namespace {

struct LstmForward {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t steps, units;
  RecurrentRows states, memories, gates, x;
  RecurrentMask mask;
  const PackedOperand& recurrent;

  void operator()(std::int64_t row, std::int64_t rows) const {
    const Scratch<float> scratch(backend, kProductScratch);
    const Zeros<float> product(backend, rows * recurrent.columns());
    const Zeros<float> start(backend, rows * units);  // state and memory in front of the first step
    for (std::int64_t t = 0; t < steps; ++t) {
      if (t > 0) recurrent.multiply(product.data(), states.at(t - 1, row), rows, scratch.data());
      kernels.lstm_step({.state = states.at(t, row),
                         .memory = memories.at(t, row),
                         .gates = gates.at(t, row),
                         .x = x.at(t, row),
                         .product = product.data(),
                         .state_before = t > 0 ? states.at(t - 1, row) : start.data(),
                         .memory_before = t > 0 ? memories.at(t - 1, row) : start.data(),
                         .mask = mask.at(t, row),
                         .pitch = recurrent.columns()},
                        rows, units);
    }
  }
};

struct LstmBackward {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t steps, units;
  RecurrentRows grad_x, grad_states, memories, gates;
  RecurrentMask mask;
  const PackedOperand& recurrent;  // transposed

  void operator()(std::int64_t row, std::int64_t rows) const {
    const Scratch<float> scratch(backend, kProductScratch);
    const Zeros<float> later(backend, rows * recurrent.columns()), start(backend, rows * units),
        grad_memory(backend, rows * units);
    const Zeros<float> direct(backend, rows * units);
    for (std::int64_t t = steps; t-- > 0;) {
      kernels.lstm_step_backward({.grad_x = grad_x.at(t, row),
                                  .grad_memory = grad_memory.data(),
                                  .grad_direct = direct.data(),
                                  .grad_state = grad_states.at(t, row),
                                  .grad_later = later.data(),
                                  .gates = gates.at(t, row),
                                  .memory = memories.at(t, row),
                                  .memory_before = t > 0 ? memories.at(t - 1, row) : start.data(),
                                  .mask = mask.at(t, row),
                                  .pitch = recurrent.columns()},
                                 rows, units);
      if (t > 0) recurrent.multiply(later.data(), grad_x.at(t, row), rows, scratch.data());
    }
  }
};

}  // namespace

void OneDnnBackend::lstm(const Tensor& states, const Tensor& memories, const Tensor& gates, const Tensor& x,
                         const Tensor& recurrent_kernel, const Tensor& mask, RecurrentParams params) {
  if (states.count() == 0 || !dense_floats(states, memories, x, recurrent_kernel) ||
      !has_dense_steps(gates) || !dense_or_missing(mask) ||
      shares_steps(threads(), x.size(1), x.size(2) * states.size(2)))
    return Backend::lstm(states, memories, gates, x, recurrent_kernel, mask, params);
  const std::int64_t steps = states.size(0), n = states.size(1), units = states.size(2);
  const PackedOperand recurrent(*this, kernels_, recurrent_kernel.data<float>(), units, 4 * units, false,
                                steps > 1);
  for_recurrent_rows(LstmForward{*this,
                                 kernels_,
                                 steps,
                                 units,
                                 {states, params},
                                 {memories, params},
                                 {gates, params},
                                 {x, params},
                                 {mask, params},
                                 recurrent},
                     n, 4 * units * units);
}

void OneDnnBackend::lstm_backward(const Tensor& grad_x, const Tensor& grad_states, const Tensor& memories,
                                  const Tensor& gates, const Tensor& recurrent_kernel, const Tensor& mask,
                                  RecurrentParams params) {
  if (!dense_floats(grad_x, grad_states, memories, gates, recurrent_kernel) || !dense_or_missing(mask) ||
      grad_states.count() == 0 || shares_steps(threads(), gates.size(1), gates.size(2) * memories.size(2)))
    return Backend::lstm_backward(grad_x, grad_states, memories, gates, recurrent_kernel, mask, params);
  const std::int64_t steps = memories.size(0), n = memories.size(1), units = memories.size(2);
  const PackedOperand recurrent(*this, kernels_, recurrent_kernel.data<float>(), 4 * units, units, true,
                                steps > 1);
  for_recurrent_rows(LstmBackward{*this,
                                  kernels_,
                                  steps,
                                  units,
                                  {grad_x, params},
                                  {grad_states, params},
                                  {memories, params},
                                  {gates, params},
                                  {mask, params},
                                  recurrent},
                     n, 4 * units * units);
}

}  // namespace ronde::inline v0
