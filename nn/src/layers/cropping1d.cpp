#include <ronde/nn/cropping1d.h>

#include "layers/layer_checks.h"
#include "layers/sequences.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

Cropping1D::Cropping1D(Cropping1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_not_negative(*this, "cropping", {options_.front, options_.back});
}

Variable Cropping1D::forward(const Variable& x, const Context&) {
  require_sequences(*this, x.shape());
  const std::int64_t end = x.size(1) - options_.back;
  require(end > options_.front, "[", label(), "] ", options_.front, " + ", options_.back,
          " steps leave nothing of sequences of ", x.size(1));
  return slice(x, 1, options_.front, end);
}

ConfigDict Cropping1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("cropping", ConfigList{options_.front, options_.back});
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Cropping1D>(const LayerConfig& config) {
  const Size2d cropping = config.size("cropping", {1, 1});
  return std::make_unique<Cropping1D>(Cropping1DOptions{.front = cropping.h, .back = cropping.w});
}

}  // namespace ronde::inline v0
