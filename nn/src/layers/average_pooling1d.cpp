#include <ronde/nn/average_pooling1d.h>

#include "layers/pooling1d.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

AveragePooling1D::AveragePooling1D(Pooling1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  check_pooling(*this, options_);
}

Variable AveragePooling1D::forward(const Variable& x, const Context&) {
  return from_row(average_pool2d(as_row(*this, x), pooling_window(*this, options_, x.shape())));
}

ConfigDict AveragePooling1D::config() const {
  return pooling_config(*this, options_);
}

template <>
std::unique_ptr<Module> read_layer<AveragePooling1D>(const LayerConfig& config) {
  return std::make_unique<AveragePooling1D>(read_pooling1d(config));
}

}  // namespace ronde::inline v0
