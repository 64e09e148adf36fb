#include <ronde/core/ops.h>
#include <ronde/nn/prelu.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

PReLU::PReLU(PReLUOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
}

void PReLU::build_weights(const Shape& input, const BuildOptions& options) {
  Shape shape = input.tail(1);
  for (const std::int64_t axis : options_.shared_axes) {
    require<UsageError>(axis >= 1 && axis < input.rank(), "[", label(), "] shared_axes: inputs ", input,
                        " have no axis ", axis, " behind the batch");
    shape[static_cast<int>(axis) - 1] = 1;
  }
  alpha_ = add_weight({.name = "alpha", .regularizer = options_.alpha_regularizer}, shape,
                      options_.alpha_initializer, options);
}

Variable PReLU::forward(const Variable& x, const Context&) {
  const Shape& alphas = alpha_.shape();
  bool fits = x.rank() == alphas.rank() + 1;
  for (int i = 0; fits && i < alphas.rank(); ++i) fits = alphas[i] == 1 || alphas[i] == x.size(i + 1);
  require(fits, "[", label(), "] has weights ", alphas, ", which do not fit inputs ", x.shape());
  return relu(x) - cast(alpha_, x.dtype()) * relu(-x);
}

ConfigDict PReLU::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("alpha_initializer", options_.alpha_initializer.config());
  append_regularizer("alpha_regularizer", options_.alpha_regularizer, config);
  const std::vector<std::int64_t>& shared = options_.shared_axes;
  config.emplace_back("shared_axes",
                      shared.empty() ? ConfigValue() : ConfigList(shared.begin(), shared.end()));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<PReLU>(const LayerConfig& config) {
  PReLUOptions options{.alpha_initializer = config.initializer("alpha_initializer", Initializer::zeros),
                       .alpha_regularizer = config.regularizer("alpha_regularizer")};
  if (config.find("shared_axes") != nullptr) options.shared_axes = config.integers("shared_axes");
  return std::make_unique<PReLU>(std::move(options));
}

}  // namespace ronde::inline v0
