#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/packed_operand.h"
#include "backend/onednn/recurrent_rows.h"

namespace ronde::inline v0 {

namespace {

struct GruForward {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t steps, units;
  RecurrentRows states, gates, x;
  RecurrentMask mask;
  const PackedOperand& recurrent;
  const float* bias;  // 3 * units

  void operator()(std::int64_t row, std::int64_t rows) const {
    const Scratch<float> scratch(backend, kProductScratch);
    const Zeros<float> product(backend, rows * recurrent.columns());
    const Zeros<float> start(backend, rows * units);  // the state in front of the first step
    for (std::int64_t t = 0; t < steps; ++t) {
      if (t > 0) recurrent.multiply(product.data(), states.at(t - 1, row), rows, scratch.data());
      kernels.gru_step({.state = states.at(t, row),
                        .gates = gates.at(t, row),
                        .x = x.at(t, row),
                        .product = product.data(),
                        .bias = bias,
                        .state_before = t > 0 ? states.at(t - 1, row) : start.data(),
                        .mask = mask.at(t, row),
                        .pitch = recurrent.columns()},
                       rows, units);
    }
  }
};

struct GruBackward {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t steps, units;
  RecurrentRows grad_x, grad_products, grad_states, states, gates;
  RecurrentMask mask;
  const PackedOperand& recurrent;  // transposed

  void operator()(std::int64_t row, std::int64_t rows) const {
    const Scratch<float> scratch(backend, kProductScratch);
    const Zeros<float> later(backend, rows * recurrent.columns()), start(backend, rows * units),
        direct(backend, rows * units);
    for (std::int64_t t = steps; t-- > 0;) {
      kernels.gru_step_backward({.grad_x = grad_x.at(t, row),
                                 .grad_product = grad_products.at(t, row),
                                 .grad_direct = direct.data(),
                                 .grad_state = grad_states.at(t, row),
                                 .grad_later = later.data(),
                                 .gates = gates.at(t, row),
                                 .state_before = t > 0 ? states.at(t - 1, row) : start.data(),
                                 .mask = mask.at(t, row),
                                 .pitch = recurrent.columns()},
                                rows, units);
      if (t > 0) recurrent.multiply(later.data(), grad_products.at(t, row), rows, scratch.data());
    }
  }
};

}  // namespace

void OneDnnBackend::gru(const Tensor& states, const Tensor& gates, const Tensor& x,
                        const Tensor& recurrent_kernel, const Tensor& recurrent_bias, const Tensor& mask,
                        RecurrentParams params) {
  if (states.count() == 0 || !dense_floats(states, x, recurrent_kernel) || !has_dense_steps(gates) ||
      !dense_or_missing(recurrent_bias) || !dense_or_missing(mask) ||
      shares_steps(threads(), x.size(1), x.size(2) * states.size(2)))
    return Backend::gru(states, gates, x, recurrent_kernel, recurrent_bias, mask, params);
  const std::int64_t steps = states.size(0), n = states.size(1), units = states.size(2);
  const PackedOperand recurrent(*this, kernels_, recurrent_kernel.data<float>(), units, 3 * units, false,
                                steps > 1);
  const Zeros<float> no_bias(*this, recurrent_bias.defined() ? 0 : 3 * units);
  for_recurrent_rows(GruForward{*this,
                                kernels_,
                                steps,
                                units,
                                {states, params},
                                {gates, params},
                                {x, params},
                                {mask, params},
                                recurrent,
                                no_bias.data() ? no_bias.data() : recurrent_bias.data<float>()},
                     n, 3 * units * units);
}

void OneDnnBackend::gru_backward(const Tensor& grad_x, const Tensor& grad_products, const Tensor& grad_states,
                                 const Tensor& states, const Tensor& gates, const Tensor& recurrent_kernel,
                                 const Tensor& mask, RecurrentParams params) {
  if (!dense_floats(grad_x, grad_products, grad_states, states, gates, recurrent_kernel) ||
      !dense_or_missing(mask) || states.count() == 0 ||
      shares_steps(threads(), grad_x.size(1), grad_x.size(2) * states.size(2)))
    return Backend::gru_backward(grad_x, grad_products, grad_states, states, gates, recurrent_kernel, mask,
                                 params);
  const std::int64_t steps = states.size(0), n = states.size(1), units = states.size(2);
  const PackedOperand recurrent(*this, kernels_, recurrent_kernel.data<float>(), 3 * units, units, true,
                                steps > 1);
  for_recurrent_rows(GruBackward{*this,
                                 kernels_,
                                 steps,
                                 units,
                                 {grad_x, params},
                                 {grad_products, params},
                                 {grad_states, params},
                                 {states, params},
                                 {gates, params},
                                 {mask, params},
                                 recurrent},
                     n, 3 * units * units);
}

}  // namespace ronde::inline v0
