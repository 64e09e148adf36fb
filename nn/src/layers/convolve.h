/// What the layers of one conv2d do: check their images, convolve them, apply the activation.
#pragma once

#include "layers/fused_activation.h"
#include "layers/image_checks.h"
#include "layers/layer_checks.h"

namespace ronde::inline v0 {

/// The call that a Conv2D or DepthwiseConv2D of these options makes.
template <class Options>
Conv2dCall conv2d_call(const Options& options, const Variable& kernel, const Variable& bias,
                       std::int64_t groups) {
  return {.weight = kernel,
          .bias = bias,
          .options = {.stride = options.strides,
                      .padding = options.padding,
                      .dilation = options.dilation,
                      .groups = groups,
                      .epilogue = epilogue_of(options.activation)}};
}

/// By a Conv2D or DepthwiseConv2D, of images with margins of zeros around them.
template <class Layer>
Variable convolve_images(const Layer& layer, const Variable& x, const Margins2d& margins) {
  Conv2dCall call = layer.call();
  require_images(layer, x.shape());
  require_channels(layer, x, call.weight.size(3) * call.options.groups);
  const auto& options = layer.options();
  require_window_fits(layer, x.shape(), options.kernel, options.dilation, options.padding, margins);
  call.options.margins = margins;
  return apply_rest(options.activation, conv2d(x, call.weight, call.bias, call.options));
}

}  // namespace ronde::inline v0
