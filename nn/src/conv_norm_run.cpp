#include "conv_norm_run.h"

#include <optional>

#include <ronde/nn/conv2d.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/zero_padding2d.h>

#include "margins.h"

namespace ronde::inline v0 {

namespace {

template <class Convolution>
bool is_linear(const Convolution& layer) {
  return layer.options().activation == Activation::linear;
}

}  // namespace

template <class Convolution>
bool ConvNormRun::next_convolution(const Margins2d* margins) {
  const Convolution* layer = next<Convolution>(is_linear);
  if (!layer || (margins && !takes_margins(*layer, *margins))) return false;
  conv_ = layer->call();
  if (margins) conv_.options.margins = *margins;
  return true;
}

ConvNormRun::ConvNormRun(std::span<Module* const> layers, const Variable& x, const Context& context)
    : LayerRun(layers) {
  std::optional<Margins2d> margins;
  if (const ZeroPadding2D* padding = next<ZeroPadding2D>()) margins = padding->margins();
  const Margins2d* around = margins ? &*margins : nullptr;
  const std::size_t in_front = length();
  const bool is_convolution =
      next_convolution<Conv2D>(around) || (length() == in_front && next_convolution<DepthwiseConv2D>(around));
  if (is_convolution) norm_ = next<BatchNormalization>();
  const bool fits = norm_ && norm_->is_inference(context) && x.shape().rank() == 4 &&
                    x.shape().tail(1) == first().input_shape();
  if (fits)
    activation_ = next_activation();
  else
    clear();
}

Variable ConvNormRun::operator()(const Variable& x, const Context&) const {
  return conv2d_norm(first().in_compute_dtype(x), conv_, norm_->inference_call(activation_));
}

}  // namespace ronde::inline v0
