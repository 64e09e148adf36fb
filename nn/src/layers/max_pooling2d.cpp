#include <ronde/nn/max_pooling2d.h>

#include "layers/pooling2d.h"

namespace ronde::inline v0 {

MaxPooling2D::MaxPooling2D(Pooling2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  check_pooling(*this, options_);
}

Variable MaxPooling2D::forward(const Variable& x, const Context&) {
  return max_pool2d(x, pooling_window(*this, options_, x.shape()));
}

ConfigDict MaxPooling2D::config() const {
  return pooling_config(*this, options_);
}

template <>
std::unique_ptr<Module> read_layer<MaxPooling2D>(const LayerConfig& config) {
  return std::make_unique<MaxPooling2D>(read_pooling(config));
}

}  // namespace ronde::inline v0
