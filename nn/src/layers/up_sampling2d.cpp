#include <ronde/nn/up_sampling2d.h>

#include <cmath>

#include <ronde/core/ops.h>

#include "layers/image_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

Variable repeat_pixels(const Variable& x, Size2d times) {
  const std::int64_t n = x.size(0), h = x.size(1), w = x.size(2), c = x.size(3);
  const Variable pixels = reshape(x, {n, h, 1, w, 1, c});
  return reshape(broadcast_to(pixels, {n, h, times.h, w, times.w, c}), {n, h * times.h, w * times.w, c});
}

/// Each element's neighbour in front of it (or behind), along an axis; that of the outermost is itself.
Variable neighbours(const Variable& x, int axis, bool in_front) {
  const std::int64_t last = x.size(axis) - 1;
  if (in_front) return concat({slice(x, axis, 0, 1), slice(x, axis, 0, last)}, axis);
  return concat({slice(x, axis, 1, last + 1), slice(x, axis, last, last + 1)}, axis);
}

/// Each element becomes `times` of them, which lie between it and its two neighbours.
Variable interpolate(const Variable& x, int axis, std::int64_t times) {
  if (times == 1) return x;
  const Variable before = neighbours(x, axis, true), behind = neighbours(x, axis, false);
  std::vector<Variable> parts;
  for (std::int64_t i = 0; i < times; ++i) {
    // From the middle of the element, whose width is 1.
    const double distance = (static_cast<double>(i) + 0.5) / static_cast<double>(times) - 0.5;
    const double share = std::abs(distance);
    parts.push_back(share == 0.0 ? x : x * (1.0 - share) + (distance < 0 ? before : behind) * share);
  }
  Shape shape = x.shape();
  shape[axis] *= times;
  return reshape(stack(parts, axis + 1), shape);
}

const char* to_string(Interpolation interpolation) {
  return interpolation == Interpolation::bilinear ? "bilinear" : "nearest";
}

Interpolation read_interpolation(const LayerConfig& config) {
  const std::string name = config.text("interpolation", "nearest");
  for (const Interpolation known : {Interpolation::nearest, Interpolation::bilinear})
    if (name == to_string(known)) return known;
  config.refuse("interpolation", cat("\"", name, "\" is not supported, only \"nearest\" and \"bilinear\""));
}

}  // namespace

UpSampling2D::UpSampling2D(UpSampling2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  // Of bilinear interpolation each place between two pixels is a step of its own.
  if (options_.interpolation == Interpolation::bilinear)
    require_positive(*this, "size", options_.size, 1 << 16);
  else
    require_positive(*this, "size", options_.size);
}

Variable UpSampling2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  const Size2d size = options_.size;
  if (options_.interpolation == Interpolation::nearest) return repeat_pixels(x, size);
  return interpolate(interpolate(x, 1, size.h), 2, size.w);
}

ConfigDict UpSampling2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("size", pair(options_.size));
  config.emplace_back("data_format", "channels_last");
  config.emplace_back("interpolation", to_string(options_.interpolation));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<UpSampling2D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  return std::make_unique<UpSampling2D>(
      UpSampling2DOptions{.size = config.size("size", {2, 2}), .interpolation = read_interpolation(config)});
}

}  // namespace ronde::inline v0
