/// One step of an LSTM, between the products of its states and the recurrent kernel. Gates i, f, g, o of a
/// row lie side by side: c = f * c_before + i * g, h = o * tanh(c).
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/transcendental.h"

namespace ronde::inline v0 {
namespace {

void lstm_step(const LstmStep& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = step.x + r * 4 * units;
    const float* product = step.product + r * step.pitch;
    const float* before = step.memory_before + r * units;
    float* gates = step.gates + r * 4 * units;
    float* memory = step.memory + r * units;
    float* state = step.state + r * units;
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
}

void lstm_step_backward(const LstmGradients& step, std::int64_t rows, std::int64_t units) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* gates = step.gates + r * 4 * units;
    const float* memory = step.memory + r * units;
    const float* before = step.memory_before + r * units;
    const float* grad_state = step.grad_state + r * units;
    const float* grad_later = step.grad_later + r * step.pitch;
    float* grad_memory = step.grad_memory + r * units;
    float* grad = step.grad_x + r * 4 * units;
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
}

}  // namespace
}  // namespace ronde::inline v0
