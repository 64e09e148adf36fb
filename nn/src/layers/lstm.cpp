#include <ronde/nn/lstm.h>

#include "layers/recurrent_options.h"

namespace ronde::inline v0 {

LSTM::LSTM(const RecurrentOptions& options) : Recurrent(Kind::lstm, options) {
  check();
}

std::unique_ptr<Recurrent> LSTM::reversed() const {
  const RecurrentOptions options = reversed_options();
  return std::make_unique<LSTM>(options);
}

Variable LSTM::all_states(const Variable& x, const Variable& recurrent_kernel, const Variable&,
                          const Tensor& mask) const {
  if (!has_default_activations()) return {};
  return lstm(x, recurrent_kernel, mask, {.backwards = options().go_backwards});
}

void LSTM::step(const Variable& x, Pass& pass) const {
  const auto inner = [this](const Variable& y) { return apply_activation(options().activation, y); };
  const std::int64_t units = options().units;
  const Variable gates = x + pass.products.front()(pass.dropped_state());
  const std::vector<Variable> parts = split(gates, {2 * units, units, units}, 1);
  const std::vector<Variable> in_forget = open_two(parts[0]);
  pass.memory = in_forget[1] * pass.memory + in_forget[0] * inner(parts[1]);
  pass.state = apply_activation(options().recurrent_activation, parts[2]) * inner(pass.memory);
}

template <>
std::unique_ptr<Module> read_layer<LSTM>(const LayerConfig& config) {
  const RecurrentOptions options = read_recurrent_options(config);
  return std::make_unique<LSTM>(options);
}

}  // namespace ronde::inline v0
