#include <ronde/nn/max_pooling1d.h>

#include "layers/pooling1d.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

MaxPooling1D::MaxPooling1D(Pooling1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  check_pooling(*this, options_);
}

Variable MaxPooling1D::forward(const Variable& x, const Context&) {
  return from_row(max_pool2d(as_row(*this, x), pooling_window(*this, options_, x.shape())));
}

ConfigDict MaxPooling1D::config() const {
  return pooling_config(*this, options_);
}

template <>
std::unique_ptr<Module> read_layer<MaxPooling1D>(const LayerConfig& config) {
  return std::make_unique<MaxPooling1D>(read_pooling1d(config));
}

}  // namespace ronde::inline v0
