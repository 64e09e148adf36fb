/// What the layers of one conv2d do: check their images, convolve them, apply the activation.
#pragma once

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>

#include "layers/image_checks.h"
#include "layers/layer_checks.h"

namespace ronde::inline v0 {

/// The call that a Conv2D or DepthwiseConv2D of these options makes.
template <class Options>
Conv2dCall conv2d_call(const Options& options, const Variable& kernel, const Variable& bias,
                       std::int64_t groups) {
  const bool relu = options.activation == Activation::relu;
  return {.weight = kernel,
          .bias = bias,
          .options = {.stride = options.strides,
                      .padding = options.padding,
                      .dilation = options.dilation,
                      .groups = groups,
                      .epilogue = relu ? Epilogue::relu : Epilogue::none}};
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
  const Variable y = conv2d(x, call.weight, call.bias, call.options);
  return call.options.epilogue == Epilogue::relu ? y : apply_activation(options.activation, y);
}

}  // namespace ronde::inline v0
