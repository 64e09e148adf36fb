#include <ronde/nn/zero_padding2d.h>

#include "layers/image_checks.h"
#include "layers/layer_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

ZeroPadding2D::ZeroPadding2D(ZeroPadding2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_not_negative(*this, "padding", {options_.top, options_.bottom, options_.left, options_.right});
}

Variable ZeroPadding2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  return zero_pad2d(x, margins());
}

ConfigDict ZeroPadding2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("padding", margins_list(margins()));
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<ZeroPadding2D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  const Margins2d padding = config.margins("padding", {1, 1, 1, 1});
  return std::make_unique<ZeroPadding2D>(
      ZeroPadding2DOptions{padding.top, padding.bottom, padding.left, padding.right, {}});
}

}  // namespace ronde::inline v0
