/// Masking: steps of sequences that do not count. (n, steps, features) -> the same, with zeros and a mask
/// (Variable::mask) where all features of a step are `mask_value`.
///
///     Sequential net(Masking(), LSTM({.units = 64}), Dense({.units = 1}));
///
/// So sequences of different lengths become one batch, the shorter ones filled up. Embedding with mask_zero
/// makes such a mask, too. What layers do with it is what Keras' do: LSTM, GRU and SimpleRNN leave the steps
/// out, GlobalAveragePooling1D averages the others, attentions take from the others; those that make
/// each step of the same step hand it on (Module::keeps_mask), all others drop it. Of outputs that have one,
/// losses and metrics look at the steps that count alone (losses_of_samples), for masks (n, steps). Where
/// Keras 2 and 3 differ, or Ronde does not follow them, it is an error: Softmax, BatchNormalization while it
/// trains, merged inputs without the same mask, a Concatenate of steps, several outputs one of which has one;
/// but GroupNormalization takes its statistics of all steps, as in Keras 3. What stands in steps that are
/// left out has to be finite.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Masking : public Module {
 public:
  explicit Masking(double mask_value = 0.0) : mask_value_(mask_value) {}
  std::string class_name() const override { return "Masking"; }
  double mask_value() const { return mask_value_; }
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  double mask_value_;
};

}  // namespace ronde::inline v0
