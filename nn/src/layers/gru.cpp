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

void GRU::begin(Pass& pass) const {
  Recurrent::begin(pass);
  const std::int64_t units = options().units;
  if (!options().reset_after) {
    pass.recurrent_kernels = split(pass.recurrent_kernels.front(), {2 * units, units}, 1);
  } else if (pass.input_bias.defined()) {
    const std::vector<Variable> biases = unstack(pass.input_bias);
    pass.input_bias = biases[0];
    pass.recurrent_bias = biases[1];
  }
}

void GRU::step(const Variable& x, Pass& pass) const {
  const std::int64_t units = options().units;
  const Variable state = pass.dropped_state();
  const Variable products = dense(state, pass.recurrent_kernels.front(), pass.recurrent_bias);
  // update and reset, candidate
  const std::vector<Variable> of_x = split(x, {2 * units, units}, 1);
  const std::vector<Variable> update_reset = open_two(of_x[0] + slice(products, 1, 0, 2 * units));
  const Variable& reset = update_reset[1];
  const Variable remembered = options().reset_after ? reset * slice(products, 1, 2 * units, 3 * units)
                                                    : dense(reset * state, pass.recurrent_kernels[1]);
  const Variable candidate = apply_activation(options().activation, of_x[1] + remembered);
  pass.state = candidate + update_reset[0] * (pass.state - candidate);
}

template <>
std::unique_ptr<Module> read_layer<GRU>(const LayerConfig& config) {
  const RecurrentOptions options = read_recurrent_options(config);
  return std::make_unique<GRU>(options);
}

}  // namespace ronde::inline v0
