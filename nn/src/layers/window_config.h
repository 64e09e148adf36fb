/// How a kernel moves, in configs of convolutions: of images, or of sequences, which have one axis.
#pragma once

#include "module/layer_config.h"

namespace ronde::inline v0 {

inline ConfigList extents_list(Size2d extents) {
  return pair(extents);
}
inline ConfigList extents_list(std::int64_t extent) {
  return {extent};
}

template <class Options>
void append_window(const Options& options, ConfigDict& config) {
  config.emplace_back("kernel_size", extents_list(options.kernel));
  config.emplace_back("strides", extents_list(options.strides));
  config.emplace_back("padding", to_string(options.padding));
  config.emplace_back("data_format", "channels_last");
  config.emplace_back("dilation_rate", extents_list(options.dilation));
}

}  // namespace ronde::inline v0
