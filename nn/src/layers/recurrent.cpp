#include <ronde/nn/recurrent.h>

#include <algorithm>
#include <limits>

#include "layers/masked_steps.h"
#include "layers/recurrent_options.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

namespace {

std::int64_t gates_of(Recurrent::Kind kind) {
  if (kind == Recurrent::Kind::simple_rnn) return 1;
  return kind == Recurrent::Kind::gru ? 3 : 4;
}

}  // namespace

Recurrent::Recurrent(Kind kind, const RecurrentOptions& options)
    : kind_(kind), options_(options), zeroes_masked_(options.zero_output_for_mask) {}
Recurrent::Recurrent(Recurrent&&) = default;
Recurrent::~Recurrent() = default;
Recurrent::Pass::~Pass() = default;

void Recurrent::check() {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.units > 0 && options_.units <= std::numeric_limits<std::int32_t>::max(), "[",
                      label(), "] units must be positive and below 2^31, got ", options_.units);
  dropout_ = add_dropout("dropout", options_.dropout, {1, -1});  // all steps alike
  recurrent_dropout_ = add_dropout("recurrent_dropout", options_.recurrent_dropout, {});
}

Dropout* Recurrent::add_dropout(const char* name, double rate, const Shape& noise) {
  if (rate == 0.0) return nullptr;
  auto layer = std::make_unique<Dropout>(rate, noise);
  Dropout* const added = layer.get();
  add_module(name, std::move(layer));
  return added;
}

void Recurrent::build_weights(const Shape& input, const BuildOptions& options) {
  require_sequences(*this, input);
  const std::int64_t units = options_.units, width = gates_of(kind_) * units;
  const auto add = [&](const char* name, const Shape& shape, const Initializer& initializer,
                       const Regularizer& regularizer) {
    return add_weight({.name = name, .regularizer = regularizer}, shape, initializer, options);
  };
  kernel_ = add("kernel", {input.back(), width}, options_.kernel_initializer, options_.kernel_regularizer);
  recurrent_kernel_ =
      add("recurrent_kernel", {units, width}, options_.recurrent_initializer, options_.recurrent_regularizer);
  if (!options_.use_bias) return;
  const bool has_two = kind_ == Kind::gru && options_.reset_after;
  bias_ = add("bias", has_two ? Shape{2, width} : Shape{width}, options_.bias_initializer,
              options_.bias_regularizer);
  if (kind_ == Kind::lstm && options_.unit_forget_bias) bias_.value().slice(0, units, 2 * units).fill(1.0);
}

Variable Recurrent::Pass::dropped_state() const {
  return mask.defined() ? state * mask : state;
}

void Recurrent::begin(Pass& pass, const Variable& recurrent_kernel, const Variable& bias) const {
  pass.products.emplace_back(recurrent_kernel, Variable(), pass.steps);
  pass.input_bias = bias;
}

std::vector<Variable> Recurrent::open_two(const Variable& gates) const {
  const Activation::Kind kind = options_.recurrent_activation;
  const std::vector<std::int64_t> sizes(2, options_.units);
  const bool is_elementwise = kind != Activation::softmax && kind != Activation::log_softmax;
  if (is_elementwise) return split(apply_activation(kind, gates), sizes, 1);
  std::vector<Variable> both = split(gates, sizes, 1);
  for (Variable& gate : both) gate = apply_activation(kind, gate);
  return both;
}

/// x * kernel + bias of each step. What belongs to one step lies together, so steps come first.
Variable Recurrent::project(const Variable& x, const Variable& bias) const {
  const std::int64_t n = x.size(0), steps = x.size(1), features = x.size(2);
  const Variable rows = reshape(permute(x, {1, 0, 2}), {steps * n, features});
  return reshape(dense(rows, kernel_, bias), {steps, n, kernel_.size(1)});
}

Variable Recurrent::all_states(const Variable&, const Variable&, const Variable&, const Tensor&) const {
  return {};
}

bool Recurrent::has_default_activations() const {
  return options_.activation == Activation::tanh && options_.recurrent_activation == Activation::sigmoid;
}

/// What is asked for of states (steps, n, units).
Variable Recurrent::outputs_of(const Variable& states) const {
  const std::int64_t steps = states.size(0), last = options_.go_backwards ? 0 : steps - 1;
  if (!options_.return_sequences)
    return reshape(slice(states, 0, last, last + 1), {states.size(1), states.size(2)});
  if (options_.go_backwards == turns_outputs_) return permute(states, {1, 0, 2});
  std::vector<Variable> turned = unstack(states);
  std::reverse(turned.begin(), turned.end());
  return stack(turned, 1);
}

Variable Recurrent::forward(const Variable& x, const Context& context) {
  const std::int64_t features = kernel_.size(0);
  require(x.rank() == 3 && x.size(1) > 0 && x.size(2) == features, "[", label(),
          "] expects inputs of shape (n, steps, ", features, "), got ", x.shape());
  Pass pass;
  pass.steps = x.size(1);
  begin(pass, recurrent_kernel_, bias_);
  const Variable projected = project(dropout_ ? (*dropout_)(x, context) : x, pass.input_bias);
  const Tensor mask = mask_by_step(*this, x);
  const Variable states =
      recurrent_dropout_ ? Variable() : all_states(projected, recurrent_kernel_, pass.recurrent_bias, mask);
  if (!states.defined()) return step_by_step(pass, projected, mask, context);
  return outputs_of(zeroes_masked_ ? zeroed(states, mask) : states);
}

/// The same of what `project` gave, by operations of each step.
Variable Recurrent::step_by_step(Pass& pass, const Variable& projected, const Tensor& mask,
                                 const Context& context) const {
  const TensorOptions options = projected.value().options();
  const Shape state{projected.size(1), options_.units};
  pass.state = pass.memory = Tensor::zeros(state, options);
  if (recurrent_dropout_ && (context.training || context.trace != nullptr))  // a dry run reaches all parts
    pass.mask = (*recurrent_dropout_)(Tensor::full(state, 1.0, options), context);
  std::vector<Variable> inputs = unstack(projected), outputs;
  if (options_.go_backwards) std::reverse(inputs.begin(), inputs.end());
  const MaskedSteps masked(mask, options_.go_backwards);
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    const Variable state_before = pass.state, memory_before = pass.memory;
    step(inputs[t], pass);
    pass.state = masked.left_out(t, pass.state, state_before);
    pass.memory = masked.left_out(t, pass.memory, memory_before);
    if (!options_.return_sequences && t + 1 < inputs.size()) continue;
    outputs.push_back(zeroes_masked_ ? zeroed(pass.state, masked.counts(t)) : pass.state);
  }
  if (!options_.return_sequences) return outputs.back();
  if (turns_outputs_) std::reverse(outputs.begin(), outputs.end());
  return stack(outputs, 1);
}

ConfigDict Recurrent::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("return_sequences", options_.return_sequences);
  config.emplace_back("go_backwards", options_.go_backwards);
  if (options_.zero_output_for_mask) config.emplace_back("zero_output_for_mask", true);
  config.emplace_back("units", options_.units);
  config.emplace_back("activation", to_string(options_.activation));
  if (kind_ != Kind::simple_rnn)
    config.emplace_back("recurrent_activation", to_string(options_.recurrent_activation));
  config.emplace_back("use_bias", options_.use_bias);
  config.emplace_back("kernel_initializer", options_.kernel_initializer.config());
  config.emplace_back("recurrent_initializer", options_.recurrent_initializer.config());
  config.emplace_back("bias_initializer", options_.bias_initializer.config());
  append_regularizer("kernel_regularizer", options_.kernel_regularizer, config);
  append_regularizer("recurrent_regularizer", options_.recurrent_regularizer, config);
  append_regularizer("bias_regularizer", options_.bias_regularizer, config);
  config.emplace_back("dropout", options_.dropout);
  config.emplace_back("recurrent_dropout", options_.recurrent_dropout);
  if (kind_ == Kind::lstm) config.emplace_back("unit_forget_bias", options_.unit_forget_bias);
  if (kind_ == Kind::gru) config.emplace_back("reset_after", options_.reset_after);
  return config;
}

RecurrentOptions Recurrent::reversed_options() const {
  RecurrentOptions options = options_;
  options.go_backwards = !options.go_backwards;
  options.name.clear();
  return options;
}

RecurrentOptions read_recurrent_options(const LayerConfig& config) {
  // How Keras computes, not what.
  config.ignore({"implementation", "unroll", "use_cudnn", "seed"});
  for (const char* key : {"return_state", "stateful", "time_major"}) config.expect_false(key);
  RecurrentOptions options{.units = config.integer("units")};
  options.activation = config.activation("activation", options.activation);
  options.use_bias = config.boolean("use_bias", true);
  options.kernel_initializer = config.initializer("kernel_initializer", options.kernel_initializer);
  options.recurrent_initializer = config.initializer("recurrent_initializer", options.recurrent_initializer);
  options.bias_initializer = config.initializer("bias_initializer", options.bias_initializer);
  options.kernel_regularizer = config.regularizer("kernel_regularizer");
  options.recurrent_regularizer = config.regularizer("recurrent_regularizer");
  options.bias_regularizer = config.regularizer("bias_regularizer");
  options.dropout = config.number("dropout", 0.0);
  options.recurrent_dropout = config.number("recurrent_dropout", 0.0);
  options.return_sequences = config.boolean("return_sequences", false);
  options.go_backwards = config.boolean("go_backwards", false);
  options.zero_output_for_mask = config.boolean("zero_output_for_mask", false);
  if (config.class_name() != "SimpleRNN")
    options.recurrent_activation = config.activation("recurrent_activation", options.recurrent_activation);
  if (config.class_name() == "LSTM") options.unit_forget_bias = config.boolean("unit_forget_bias", true);
  if (config.class_name() == "GRU") options.reset_after = config.boolean("reset_after", true);
  return options;
}

}  // namespace ronde::inline v0
