/// GRU, a gated recurrent unit: (n, steps, features) -> (n, units), or (n, steps, units) with
/// return_sequences.
///
/// With s the recurrent_activation, a the activation, and the gates z, r, h, in this order: state = s(z) *
/// state + (1 - s(z)) * a(h). z and r are of x * kernel + state * recurrent_kernel + bias. With reset_after h
/// is x * kernel + bias + s(r) * (state * recurrent_kernel + another bias), and the bias of all gates (2,
/// 3 * units); without, it is x * kernel + (s(r) * state) * recurrent_kernel + bias. Source: Cho et al.,
/// "Learning phrase representations using RNN encoder-decoder", 2014, its versions 3 and 1.
///
/// What the options say besides is in recurrent.h.
#pragma once

#include <memory>
#include <string>

#include <ronde/nn/recurrent.h>

namespace ronde::inline v0 {

class RONDE_API GRU : public Recurrent {
 public:
  explicit GRU(const RecurrentOptions& options);
  std::string class_name() const override { return "GRU"; }
  std::unique_ptr<Recurrent> reversed() const override;

 private:
  void begin(Pass& pass, const Variable& recurrent_kernel, const Variable& bias) const override;
  void step(const Variable& x, Pass& pass) const override;
  Variable all_states(const Variable& x, const Variable& recurrent_kernel, const Variable& recurrent_bias,
                      const Tensor& mask) const override;
};

}  // namespace ronde::inline v0
