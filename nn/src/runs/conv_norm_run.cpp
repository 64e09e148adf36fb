#include "runs/conv_norm_run.h"

#include <ronde/nn/zero_padding2d.h>

#include "layers/margins.h"

namespace ronde::inline v0 {

namespace {

template <class Convolution>
bool is_linear(const Convolution& layer) {
  return layer.options().activation == Activation::linear;
}

}  // namespace

ConvNormRun::ConvNormRun(std::span<Module* const> layers, const Variable& x, const Context& context)
    : LayerRun(layers) {
  const ZeroPadding2D* padding = next<ZeroPadding2D>();
  if (padding) margins_ = padding->margins();
  conv_ = next<Conv2D>(is_linear);
  if (!conv_) depthwise_ = next<DepthwiseConv2D>(is_linear);
  const bool takes_padding = !padding || (conv_ && takes_margins(*conv_, margins_)) ||
                             (depthwise_ && takes_margins(*depthwise_, margins_));
  if ((conv_ || depthwise_) && takes_padding) norm_ = next<BatchNormalization>();
  const bool fits = norm_ && norm_->is_inference(context) && x.shape().rank() == 4 &&
                    x.shape().tail(1) == first().input_shape();
  if (fits)
    activation_ = next_activation();
  else
    clear();
}

Variable ConvNormRun::operator()(const Variable& x, const Context&) const {
  Conv2dCall call = conv_ ? conv_->call() : depthwise_->call();
  call.options.margins = margins_;
  return conv2d_norm(first().in_compute_dtype(x), call, norm_->inference_call(activation_));
}

}  // namespace ronde::inline v0
