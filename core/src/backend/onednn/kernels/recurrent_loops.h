/// One step of a recurrent layer, between the products of its states and the recurrent kernel. The gates of a
/// row lie side by side.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/transcendental.h"

namespace ronde::inline v0 {
namespace {

// Of one row. Gates i, f, g, o: memory = f * memory_before + i * g, state = o * tanh(memory).
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
    const LstmStep row{.state = step.state + at,
                       .memory = step.memory + at,
                       .gates = step.gates + 4 * at,
                       .x = step.x + 4 * at,
                       .product = step.product + r * step.pitch,
                       .state_before = step.state_before + at,
                       .memory_before = step.memory_before + at};
    if (step.mask && step.mask[r] == 0)
      lstm_row_left_out(row, units);
    else
      lstm_row(row, units);
  }
}

inline void lstm_row_backward(const LstmGradients& row, std::int64_t units) {
  const auto [grad, grad_memory, grad_direct, grad_state, grad_later, gates, memory, before, mask, pitch] =
      row;
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t k = 0; k < units; ++k) {
    const float in = gates[k], forget = gates[k + units], fresh = gates[k + 2 * units];
    const float out = gates[k + 3 * units], shown = tanh_of(memory[k]);
    const float grad_h = grad_state[k] + grad_later[k] + grad_direct[k];
    const float grad_c = grad_memory[k] + grad_h * out * (1 - shown * shown);
    grad[k] = grad_c * fresh * (in * (1 - in));
    grad[k + units] = grad_c * before[k] * (forget * (1 - forget));
    grad[k + 2 * units] = grad_c * in * (1 - fresh * fresh);
    grad[k + 3 * units] = grad_h * shown * (out * (1 - out));
    grad_memory[k] = grad_c * forget;
    grad_direct[k] = 0;
  }
}

inline void lstm_row_left_out_backward(const LstmGradients& row, std::int64_t units) {
  for (std::int64_t k = 0; k < units; ++k) row.grad_direct[k] += row.grad_state[k] + row.grad_later[k];
  for (std::int64_t k = 0; k < 4 * units; ++k) row.grad_x[k] = 0;
}

void lstm_step_backward(const LstmGradients& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * units;
    const LstmGradients row{.grad_x = step.grad_x + 4 * at,
                            .grad_memory = step.grad_memory + at,
                            .grad_direct = step.grad_direct + at,
                            .grad_state = step.grad_state + at,
                            .grad_later = step.grad_later + r * step.pitch,
                            .gates = step.gates + 4 * at,
                            .memory = step.memory + at,
                            .memory_before = step.memory_before + at};
    if (step.mask && step.mask[r] == 0)
      lstm_row_left_out_backward(row, units);
    else
      lstm_row_backward(row, units);
  }
}

// Of one row. Gates z, r, g = tanh(x + r * past), and past, the product of g's part and its bias:
// state = z * state_before + (1 - z) * g.
inline void gru_row(const GruStep& row, std::int64_t units) {
  const auto [state, gates, x, product, bias, before, mask, pitch] = row;
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t k = 0; k < units; ++k) {
    const float update = logistic(x[k] + product[k] + bias[k]);
    const float reset = logistic(x[k + units] + product[k + units] + bias[k + units]);
    const float past = product[k + 2 * units] + bias[k + 2 * units];
    const float fresh = tanh_of(x[k + 2 * units] + reset * past);
    gates[k] = update;
    gates[k + units] = reset;
    gates[k + 2 * units] = fresh;
    gates[k + 3 * units] = past;
    state[k] = fresh + update * (before[k] - fresh);
  }
}

inline void gru_row_left_out(const GruStep& row, std::int64_t units) {
  for (std::int64_t k = 0; k < units; ++k) row.state[k] = row.state_before[k];
  for (std::int64_t k = 0; k < 4 * units; ++k) row.gates[k] = 0;
}

void gru_step(const GruStep& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * units;
    const GruStep row{.state = step.state + at,
                      .gates = step.gates + 4 * at,
                      .x = step.x + 3 * at,
                      .product = step.product + r * step.pitch,
                      .bias = step.bias,
                      .state_before = step.state_before + at};
    if (step.mask && step.mask[r] == 0)
      gru_row_left_out(row, units);
    else
      gru_row(row, units);
  }
}

inline void gru_row_backward(const GruGradients& row, std::int64_t units) {
  const auto [grad, grad_product, grad_direct, grad_state, grad_later, gates, before, mask, pitch] = row;
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t k = 0; k < units; ++k) {
    const float update = gates[k], reset = gates[k + units], fresh = gates[k + 2 * units];
    const float grad_h = grad_state[k] + grad_later[k] + grad_direct[k];
    const float grad_fresh = grad_h * (1 - update) * (1 - fresh * fresh);
    const float grad_update = grad_h * (before[k] - fresh) * (update * (1 - update));
    const float grad_reset = grad_fresh * gates[k + 3 * units] * (reset * (1 - reset));
    grad[k] = grad_update;
    grad[k + units] = grad_reset;
    grad[k + 2 * units] = grad_fresh;
    grad_product[k] = grad_update;
    grad_product[k + units] = grad_reset;
    grad_product[k + 2 * units] = grad_fresh * reset;
    grad_direct[k] = grad_h * update;
  }
}

inline void gru_row_left_out_backward(const GruGradients& row, std::int64_t units) {
  for (std::int64_t k = 0; k < units; ++k) row.grad_direct[k] += row.grad_state[k] + row.grad_later[k];
  for (std::int64_t k = 0; k < 3 * units; ++k) row.grad_x[k] = row.grad_product[k] = 0;
}

void gru_step_backward(const GruGradients& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * units;
    const GruGradients row{.grad_x = step.grad_x + 3 * at,
                           .grad_product = step.grad_product + 3 * at,
                           .grad_direct = step.grad_direct + at,
                           .grad_state = step.grad_state + at,
                           .grad_later = step.grad_later + r * step.pitch,
                           .gates = step.gates + 4 * at,
                           .state_before = step.state_before + at};
    if (step.mask && step.mask[r] == 0)
      gru_row_left_out_backward(row, units);
    else
      gru_row_backward(row, units);
  }
}

}  // namespace
}  // namespace ronde::inline v0
