#include <ronde/nn/up_sampling1d.h>

#include "layers/sequences.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

UpSampling1D::UpSampling1D(UpSampling1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_positive(*this, "size", options_.size);
}

Variable UpSampling1D::forward(const Variable& x, const Context&) {
  require_sequences(*this, x.shape());
  const Shape& shape = x.shape();
  const Variable steps = reshape(x, {shape[0], shape[1], 1, shape[2]});
  return reshape(broadcast_to(steps, {shape[0], shape[1], options_.size, shape[2]}),
                 {shape[0], shape[1] * options_.size, shape[2]});
}

ConfigDict UpSampling1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("size", options_.size);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<UpSampling1D>(const LayerConfig& config) {
  return std::make_unique<UpSampling1D>(UpSampling1DOptions{.size = config.extent("size", 2)});
}

}  // namespace ronde::inline v0
