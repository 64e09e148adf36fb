#include <ronde/core/ops.h>
#include <ronde/nn/global_average_pooling2d.h>

#include "layers/global_pooling.h"
#include "layers/image_checks.h"

namespace ronde::inline v0 {

GlobalAveragePooling2D::GlobalAveragePooling2D(GlobalPoolingOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
}

Variable GlobalAveragePooling2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  return mean(x, {.axes = {1, 2}, .keep_dims = options_.keepdims});
}

ConfigDict GlobalAveragePooling2D::config() const {
  return global_pooling_config(*this, options_);
}

template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling2D>(const LayerConfig& config) {
  return std::make_unique<GlobalAveragePooling2D>(read_global_pooling(config));
}

}  // namespace ronde::inline v0
