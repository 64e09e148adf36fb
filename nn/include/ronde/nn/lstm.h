/// LSTM, long short-term memory: (n, steps, features) -> (n, units), or (n, steps, units) with
/// return_sequences.
///
///     Sequential net(LSTM({.units = 64, .return_sequences = true}), LSTM({.units = 64}), Dense({.units = 9}));
///
/// With s the recurrent_activation, a the activation, and the gates i, f, c, o, in this order, each of x *
/// kernel + state * recurrent_kernel + bias: memory = s(f) * memory + s(i) * a(c), state = s(o) * a(memory).
/// Source: Hochreiter, Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers et al.,
/// 2000.
///
/// What the options say is in recurrent.h.
#pragma once

#include <memory>
#include <string>

#include <ronde/nn/recurrent.h>

namespace ronde::inline v0 {

class RONDE_API LSTM : public Recurrent {
 public:
  explicit LSTM(const RecurrentOptions& options);
  std::string class_name() const override { return "LSTM"; }
  std::unique_ptr<Recurrent> reversed() const override;

 private:
  void step(const Variable& x, Pass& pass) const override;
  Variable all_states(const Variable& x, const Variable& recurrent_kernel, const Variable& recurrent_bias,
                      const Tensor& mask) const override;
};

}  // namespace ronde::inline v0
