#include <ronde/core/ops.h>
#include <ronde/nn/flatten.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Variable Flatten::forward(const Variable& x, const Context&) {
  require(x.rank() >= 1, "[", label(), "] expects a batch (n, ...), got a scalar");
  return reshape(x, {x.size(0), x.shape().tail(1).count()});
}

ConfigDict Flatten::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Flatten>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  return std::make_unique<Flatten>();
}

}  // namespace ronde::inline v0
