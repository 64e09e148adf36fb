/// ImageRun: layers of a Sequential that one call of conv2d_layer computes, image by image, so that what lies
/// between them need not leave a core's cache:
///
///     [ZeroPadding2D ->] [Conv2D ->] Conv2D [-> MaxPooling2D] [-> Dropout]
#pragma once

#include <span>

#include <ronde/nn/conv2d.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/max_pooling2d.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class ImageRun : public LayerRun {
 public:
  /// The longest one that `layers` begin with, for an input x.
  ImageRun(std::span<Module* const> layers, const Variable& x, const Context&);

  Variable operator()(const Variable& x, const Context& context) const;

 private:
  Margins2d margins_;
  Conv2D* front_ = nullptr;
  Conv2D* conv_ = nullptr;
  MaxPooling2D* pool_ = nullptr;
  Dropout* dropout_ = nullptr;
};

}  // namespace ronde::inline v0
