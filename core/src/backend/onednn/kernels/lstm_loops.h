/// One step of an LSTM, between the products of its states and the recurrent kernel. Gates i, f, g, o of a
/// row lie side by side: c = f * c_before + i * g, h = o * tanh(c).
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/transcendental.h"

namespace ronde::inline v0 {
namespace {

// One row each.
inline void lstm_row(const LstmStep& row, std::int64_t units) {
  const auto [state, memory, gates, x, product, state_before, before, mask, pitch] = row;
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t k = 0; k < units; ++k) {
    const float in = logistic(x[k] + product[k]);
    const float forget = logistic(x[k + units] + product[k + units]);
    const float fresh = tanh_of(x[k + 2 * units] + product[k + 2 * units]);
    const float out = logistic(x[k + 3 * units] + product[k + 3 * units]);
    const float c = forget * before[k] + in * fresh;
    gates[k] = in;
    gates[k + units] = forget;
    gates[k + 2 * units] = fresh;
    gates[k + 3 * units] = out;
    memory[k] = c;
    state[k] = out * tanh_of(c);
  }
}

// What is not in use is 0, and so what a gradient gets of it.
inline void lstm_row_left_out(const LstmStep& row, std::int64_t units) {
  for (std::int64_t k = 0; k < units; ++k) {
    row.memory[k] = row.memory_before[k];
    row.state[k] = row.state_before[k];
  }
  for (std::int64_t k = 0; k < 4 * units; ++k) row.gates[k] = 0;
}

void lstm_step(const LstmStep& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * units;
    const LstmStep row{step.state + at,
                       step.memory + at,
                       step.gates + 4 * at,
                       step.x + 4 * at,
                       step.product + r * step.pitch,
                       step.state_before + at,
                       step.memory_before + at,
                       nullptr,
                       0};
    if (step.mask && step.mask[r] == 0)
      lstm_row_left_out(row, units);
    else
      lstm_row(row, units);
  }
}

inline void lstm_row_backward(const LstmGradients& row, std::int64_t units) {
  const auto [grad, grad_memory, grad_later, grad_state, gates, memory, before, mask, pitch] = row;
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t k = 0; k < units; ++k) {
    const float in = gates[k], forget = gates[k + units], fresh = gates[k + 2 * units];
    const float out = gates[k + 3 * units], shown = tanh_of(memory[k]);
    const float grad_h = grad_state[k] + grad_later[k];
    const float grad_c = grad_memory[k] + grad_h * out * (1 - shown * shown);
    grad[k] = grad_c * fresh * (in * (1 - in));
    grad[k + units] = grad_c * before[k] * (forget * (1 - forget));
    grad[k + 2 * units] = grad_c * in * (1 - fresh * fresh);
    grad[k + 3 * units] = grad_h * shown * (out * (1 - out));
    grad_memory[k] = grad_c * forget;
  }
}

inline void lstm_row_left_out_backward(const LstmGradients& row, std::int64_t units) {
  for (std::int64_t k = 0; k < units; ++k) row.grad_later[k] += row.grad_state[k];
  for (std::int64_t k = 0; k < 4 * units; ++k) row.grad_x[k] = 0;
}

void lstm_step_backward(const LstmGradients& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * units;
    const LstmGradients row{step.grad_x + 4 * at,
                            step.grad_memory + at,
                            step.grad_later + r * step.pitch,
                            step.grad_state + at,
                            step.gates + 4 * at,
                            step.memory + at,
                            step.memory_before + at,
                            nullptr,
                            0};
    if (step.mask && step.mask[r] == 0)
      lstm_row_left_out_backward(row, units);
    else
      lstm_row_backward(row, units);
  }
}

}  // namespace
}  // namespace ronde::inline v0
