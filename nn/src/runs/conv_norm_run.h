/// ConvNormRun: layers that one call of conv2d_norm computes where moving statistics are used, so that the
/// convolution's result is normalised before it leaves the cache:
///
///     [ZeroPadding2D ->] Conv2D or DepthwiseConv2D -> BatchNormalization [-> Activation, ReLU or LeakyReLU]
#pragma once

#include <span>

#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/depthwise_conv2d.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class ConvNormRun : public LayerRun {
 public:
  /// The longest one that `layers` begin with, for an input x.
  ConvNormRun(std::span<Module* const> layers, const Variable& x, const Context& context);

  Variable operator()(const Variable& x, const Context& context) const;

 private:
  Margins2d margins_;
  Conv2D* conv_ = nullptr;
  DepthwiseConv2D* depthwise_ = nullptr;
  BatchNormalization* norm_ = nullptr;
  UnaryStage activation_;
};

}  // namespace ronde::inline v0
