#include <ronde/core/ops.h>
#include <ronde/nn/global_average_pooling1d.h>

#include "layer_config.h"

namespace ronde::inline v0 {

Variable GlobalAveragePooling1D::forward(const Variable& x, const Context&) {
  require(x.rank() == 3, "[", label(), "] expects sequences (n, steps, channels), got an input of shape ",
          x.shape());
  return mean(x, {.axes = {1}});
}

ConfigDict GlobalAveragePooling1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling1D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  config.expect_false("keepdims");
  return std::make_unique<GlobalAveragePooling1D>();
}

}  // namespace ronde::inline v0
