#include <ronde/nn/zero_padding1d.h>

#include "layers/layer_checks.h"
#include "layers/sequences.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

ZeroPadding1D::ZeroPadding1D(ZeroPadding1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_not_negative(*this, "padding", {options_.front, options_.back});
}

Variable ZeroPadding1D::forward(const Variable& x, const Context&) {
  return from_row(zero_pad2d(as_row(*this, x), {.left = options_.front, .right = options_.back}));
}

ConfigDict ZeroPadding1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("padding", ConfigList{options_.front, options_.back});
  return config;
}

template <>
std::unique_ptr<Module> read_layer<ZeroPadding1D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  const Size2d padding = config.size("padding", {1, 1});
  return std::make_unique<ZeroPadding1D>(ZeroPadding1DOptions{.front = padding.h, .back = padding.w});
}

}  // namespace ronde::inline v0
