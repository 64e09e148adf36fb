#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/dense.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Dense::Dense(DenseOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.units > 0, "[", label(), "] units must be positive, got ", options_.units);
}

void Dense::build_weights(const Shape& input, const BuildOptions& options) {
  require(input.rank() >= 2, "[", label(), "] expects inputs of shape (n, ..., inputs), got ", input);
  kernel_ = add_weight({.name = "kernel", .regularizer = options_.kernel_regularizer},
                       {input.back(), options_.units}, options_.kernel_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.units},
                     options_.bias_initializer, options);
}

Variable Dense::forward(const Variable& x, const Context&) {
  const std::int64_t inputs = kernel_.size(0);
  require(x.rank() >= 2, "[", label(), "] expects inputs of shape (n, ..., ", inputs, "), got ", x.shape());
  require(x.shape().back() == inputs, "[", label(), "] expects ", counted(inputs, "input"), ", got ",
          x.shape().back());
  const Variable rows = x.rank() == 2 ? x : reshape(x, {x.shape().count() / inputs, inputs});
  const Epilogue epilogue = call().epilogue;
  Variable y = dense(rows, kernel_, bias_, epilogue);
  if (x.rank() != 2) {
    Shape shape = x.shape();
    shape[-1] = options_.units;
    y = reshape(y, shape);
  }
  return epilogue == Epilogue::relu ? y : apply_activation(options_.activation, y);
}

DenseCall Dense::call() const {
  const bool relu = options_.activation == Activation::relu;
  return {kernel_, bias_, relu ? Epilogue::relu : Epilogue::none};
}

ConfigDict Dense::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("units", options_.units);
  config.emplace_back("activation", to_string(options_.activation));
  config.emplace_back("use_bias", options_.use_bias);
  config.emplace_back("kernel_initializer", options_.kernel_initializer.config());
  config.emplace_back("bias_initializer", options_.bias_initializer.config());
  append_regularizer("kernel_regularizer", options_.kernel_regularizer, config);
  append_regularizer("bias_regularizer", options_.bias_regularizer, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Dense>(const LayerConfig& config) {
  config.expect_no_adapters();
  return std::make_unique<Dense>(DenseOptions{
      .units = config.integer("units"),
      .activation = config.activation(),
      .use_bias = config.boolean("use_bias", true),
      .kernel_initializer = config.initializer("kernel_initializer", Initializer::glorot_uniform),
      .bias_initializer = config.initializer("bias_initializer", Initializer::zeros),
      .kernel_regularizer = config.regularizer("kernel_regularizer"),
      .bias_regularizer = config.regularizer("bias_regularizer")});
}

}  // namespace ronde::inline v0
