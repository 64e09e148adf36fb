#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/dense.h>

#include "layers/fused_activation.h"
#include "layers/kernel_and_bias.h"

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
  Variable y = dense(rows, kernel_, bias_, epilogue_of(options_.activation));
  if (x.rank() != 2) {
    Shape shape = x.shape();
    shape[-1] = options_.units;
    y = reshape(y, shape);
  }
  return apply_rest(options_.activation, y);
}

DenseCall Dense::call() const {
  return {kernel_, bias_, epilogue_of(options_.activation)};
}

ConfigDict Dense::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("units", options_.units);
  append_kernel_and_bias(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Dense>(const LayerConfig& config) {
  config.expect_no_adapters();
  return std::make_unique<Dense>(
      with_kernel_and_bias(config, DenseOptions{.units = config.integer("units")}));
}

}  // namespace ronde::inline v0
