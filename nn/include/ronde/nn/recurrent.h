/// Recurrent: what LSTM, GRU and SimpleRNN have in common. They take sequences (n, steps, features) step by
/// step and carry a state (n, units) from each to the next.
///
/// Weights, with the g gates of the layer side by side: kernel (features, g * units), recurrent_kernel
/// (units, g * units), bias (g * units); Keras' names, shapes and order of gates. The inputs of all steps are
/// multiplied by the kernel at once, the states step by step.
///
/// While training, `dropout` drops features and `recurrent_dropout` what of the state is multiplied by the
/// recurrent_kernel: the same ones in all steps of a sample and for all gates. (Keras draws them for each
/// gate in some cases.) Which ones follows from the sample, as in Dropout.
///
/// Steps that a mask leaves out (masking.h) change no state; the state that was there before is given out for
/// them, or zeros if `zero_output_for_mask`.
///
/// A state starts with zeros in each call. Keras' stateful and return_state are not supported: files that
/// have them are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/dense_steps.h>
#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

/// Of all three layers. What only one of them has is without effect in the others.
struct RecurrentOptions {
  std::int64_t units = 0;
  Activation::Kind activation = Activation::tanh;
  Activation::Kind recurrent_activation = Activation::sigmoid;  ///< of an LSTM's and a GRU's gates
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer recurrent_initializer = Initializer::orthogonal;
  Initializer bias_initializer = Initializer::zeros;
  bool unit_forget_bias = true;  ///< the bias of an LSTM's forget gates starts with ones
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  bool return_sequences = false;
  bool go_backwards = false;
  bool zero_output_for_mask = false;
  bool reset_after = true;  ///< of a GRU: gru.h
  std::string name = {};
};

class RONDE_API Recurrent : public Module {
 public:
  enum class Kind { simple_rnn, gru, lstm };

  ~Recurrent() override;
  ConfigDict config() const override;
  /// (n, steps, features) -> the last state (n, units), or those of all steps, (n, steps, units). With
  /// go_backwards the last step is taken, and its state given, first.
  Variable forward(const Variable& x, const Context& context) override;
  bool casts_inputs() const override { return true; }
  bool keeps_mask() const override { return options_.return_sequences; }
  Kind kind() const { return kind_; }
  const RecurrentOptions& options() const { return options_; }
  /// A layer with these options, without weights, that takes the steps in the other order.
  virtual std::unique_ptr<Recurrent> reversed() const = 0;
  /// From now on it gives the states of all steps in the other order, as the second layer of a Bidirectional
  /// has to.
  void turn_outputs() { turns_outputs_ = true; }
  /// Whether it gives zeros for steps that a mask leaves out, as both layers of a Bidirectional with
  /// sequences have to.
  void set_zero_output_for_mask(bool zeroes) { zeroes_masked_ = zeroes; }

 protected:
  /// What the steps of one call share, and the states that they change.
  struct Pass {
    ~Pass();
    std::int64_t steps = 0;
    Variable input_bias;
    Variable recurrent_bias;           ///< of a GRU with reset_after
    std::vector<DenseSteps> products;  ///< with the recurrent_kernel or parts of it
    Variable mask;    ///< of the state, (n, units); undefined where nothing is dropped
    Variable state;   ///< (n, units), the output
    Variable memory;  ///< (n, units), of an LSTM
    /// What is multiplied by a recurrent_kernel.
    Variable dropped_state() const;
  };

  Recurrent(Kind kind, const RecurrentOptions& options);
  Recurrent(Recurrent&&);
  /// Errors for options that make no sense; else makes what they ask for. Called by the layers' constructors.
  void check();
  RecurrentOptions reversed_options() const;
  void build_weights(const Shape& input, const BuildOptions& options) override;
  /// (n, 2 * units) -> two gates that are open so far.
  std::vector<Variable> open_two(const Variable& gates) const;
  bool has_default_activations() const;
  /// Shares out the weights among the steps: all of them as they are, the bias with the inputs.
  virtual void begin(Pass& pass, const Variable& recurrent_kernel, const Variable& bias) const;

 private:
  /// The next state; `x` (n, gates * units) is this step's input times the kernel plus input_bias.
  virtual void step(const Variable& x, Pass& pass) const = 0;
  /// The states (steps, n, units), in the order of the inputs, of such inputs of all steps, by one operation;
  /// undefined where there is none for these options. The mask (steps, n) is optional.
  virtual Variable all_states(const Variable& x, const Variable& recurrent_kernel,
                              const Variable& recurrent_bias, const Tensor& mask) const;
  Dropout* add_dropout(const char* name, double rate, const Shape& noise);
  Variable project(const Variable& x, const Variable& bias) const;
  Variable outputs_of(const Variable& states) const;
  Variable step_by_step(Pass& pass, const Variable& projected, const Tensor& mask,
                        const Context& context) const;

  Kind kind_;
  const RecurrentOptions options_;
  bool turns_outputs_ = false;
  bool zeroes_masked_ = false;
  Dropout* dropout_ = nullptr;  // children of this module; none without a rate
  Dropout* recurrent_dropout_ = nullptr;
  Variable kernel_, recurrent_kernel_, bias_;
};

}  // namespace ronde::inline v0
