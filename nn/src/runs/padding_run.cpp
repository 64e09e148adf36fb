#include "runs/padding_run.h"

#include "layers/margins.h"

namespace ronde::inline v0 {

PaddingRun::PaddingRun(std::span<Module* const> layers, const Variable& x, const Context&)
    : LayerRun(layers) {
  const ZeroPadding2D* padding = next<ZeroPadding2D>();
  if (!padding) return;
  margins_ = padding->margins();
  conv_ = next<Conv2D>();
  if (!conv_) depthwise_ = next<DepthwiseConv2D>();
  const bool fits =
      (conv_ && takes_margins(*conv_, margins_)) || (depthwise_ && takes_margins(*depthwise_, margins_));
  if (!fits || x.shape().rank() != 4) clear();
}

Variable PaddingRun::operator()(const Variable& x, const Context&) const {
  return conv_ ? conv_->convolve(conv_->in_compute_dtype(x), margins_)
               : depthwise_->convolve(depthwise_->in_compute_dtype(x), margins_);
}

}  // namespace ronde::inline v0
