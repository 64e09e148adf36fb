#include <ronde/nn/simple_rnn.h>

#include "layers/recurrent_options.h"

namespace ronde::inline v0 {

SimpleRNN::SimpleRNN(const RecurrentOptions& options) : Recurrent(Kind::simple_rnn, options) {
  check();
}

std::unique_ptr<Recurrent> SimpleRNN::reversed() const {
  const RecurrentOptions options = reversed_options();
  return std::make_unique<SimpleRNN>(options);
}

void SimpleRNN::step(const Variable& x, Pass& pass) const {
  const Variable sum = x + pass.products.front()(pass.dropped_state());
  pass.state = apply_activation(options().activation, sum);
}

template <>
std::unique_ptr<Module> read_layer<SimpleRNN>(const LayerConfig& config) {
  const RecurrentOptions options = read_recurrent_options(config);
  return std::make_unique<SimpleRNN>(options);
}

}  // namespace ronde::inline v0
