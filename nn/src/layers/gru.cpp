#include <ronde/nn/gru.h>

#include "layers/recurrent_options.h"

namespace ronde::inline v0 {

GRU::GRU(const RecurrentOptions& options) : Recurrent(Kind::gru, options) {
  check();
}

std::unique_ptr<Recurrent> GRU::reversed() const {
  const RecurrentOptions options = reversed_options();
  return std::make_unique<GRU>(options);
}

void GRU::begin(Pass& pass, const Variable& recurrent_kernel, const Variable& bias) const {
  pass.input_bias = bias;
  std::vector<Variable> kernels{recurrent_kernel};
  if (!options().reset_after) {
    kernels = split(recurrent_kernel, {2 * options().units, options().units}, 1);
  } else if (bias.defined()) {
    const std::vector<Variable> biases = unstack(bias);
    pass.input_bias = biases[0];
    pass.recurrent_bias = biases[1];
  }
  for (const Variable& kernel : kernels) pass.products.emplace_back(kernel, pass.recurrent_bias, pass.steps);
}

Variable GRU::all_states(const Variable& x, const Variable& recurrent_kernel, const Variable& recurrent_bias,
                         const Tensor& mask) const {
  if (!options().reset_after || !has_default_activations()) return {};
  return gru(x, recurrent_kernel, recurrent_bias, mask, {.backwards = options().go_backwards});
}

void GRU::step(const Variable& x, Pass& pass) const {
  const std::int64_t units = options().units;
  const Variable state = pass.dropped_state();
  const Variable products = pass.products.front()(state);
  // update and reset, candidate
  const std::vector<Variable> of_x = split(x, {2 * units, units}, 1);
  const std::vector<Variable> update_reset = open_two(of_x[0] + slice(products, 1, 0, 2 * units));
  const Variable& reset = update_reset[1];
  const Variable remembered = options().reset_after ? reset * slice(products, 1, 2 * units, 3 * units)
                                                    : pass.products[1](reset * state);
  const Variable candidate = apply_activation(options().activation, of_x[1] + remembered);
  pass.state = candidate + update_reset[0] * (pass.state - candidate);
}

template <>
std::unique_ptr<Module> read_layer<GRU>(const LayerConfig& config) {
  const RecurrentOptions options = read_recurrent_options(config);
  return std::make_unique<GRU>(options);
}

}  // namespace ronde::inline v0
