/// A run of ZeroPadding2D and a convolution without padding of its own, which takes the margins for its own:
/// the padded images are never written. Not of margins in which a whole window lies.
#pragma once

#include <ronde/nn/conv2d.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/zero_padding2d.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class PaddingRun : public LayerRun {
 public:
  PaddingRun(std::span<Module* const> layers, const Variable& x, const Context&);
  Variable operator()(const Variable& x, const Context& context) const;

 private:
  Margins2d margins_;
  Conv2D* conv_ = nullptr;
  DepthwiseConv2D* depthwise_ = nullptr;
};

}  // namespace ronde::inline v0
