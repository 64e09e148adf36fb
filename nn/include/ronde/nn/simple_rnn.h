/// SimpleRNN: state = activation(x * kernel + state * recurrent_kernel + bias) in each step; (n, steps,
/// features) -> (n, units), or (n, steps, units) with return_sequences.
///
/// What the options say is in recurrent.h.
#pragma once

#include <memory>
#include <string>

#include <ronde/nn/recurrent.h>

namespace ronde::inline v0 {

class RONDE_API SimpleRNN : public Recurrent {
 public:
  explicit SimpleRNN(const RecurrentOptions& options);
  std::string class_name() const override { return "SimpleRNN"; }
  std::unique_ptr<Recurrent> reversed() const override;

 private:
  void step(const Variable& x, Pass& pass) const override;
};

}  // namespace ronde::inline v0
