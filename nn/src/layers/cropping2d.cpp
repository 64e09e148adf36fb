#include <ronde/nn/cropping2d.h>

#include "layers/image_checks.h"
#include "layers/layer_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

Cropping2D::Cropping2D(Cropping2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_not_negative(*this, "cropping", {options_.top, options_.bottom, options_.left, options_.right});
}

Variable Cropping2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  const auto& [top, bottom, left, right, name] = options_;
  const std::int64_t h = x.size(1), w = x.size(2);
  require(top < h - bottom && left < w - right, "[", label(), "] nothing is left of images of ", h, " x ", w,
          " without ", top, " + ", bottom, " rows and ", left, " + ", right, " columns");
  return slice(slice(x, 1, top, h - bottom), 2, left, w - right);
}

ConfigDict Cropping2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("cropping",
                      margins_list({options_.top, options_.bottom, options_.left, options_.right}));
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Cropping2D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  const Margins2d cropping = config.margins("cropping", {});
  return std::make_unique<Cropping2D>(
      Cropping2DOptions{cropping.top, cropping.bottom, cropping.left, cropping.right, {}});
}

}  // namespace ronde::inline v0
