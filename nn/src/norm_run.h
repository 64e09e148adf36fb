/// NormRun: layers that one call of batch_norm with a relu computes:
///
///     BatchNormalization -> Activation(relu or relu6) or ReLU, also one that gives 6 at most
#pragma once

#include <limits>
#include <span>

#include <ronde/nn/batch_normalization.h>

#include "layer_run.h"

namespace ronde::inline v0 {

class NormRun : public LayerRun {
 public:
  /// The one that `layers` begin with, for an input x.
  NormRun(std::span<Module* const> layers, const Variable& x);

  Variable operator()(const Variable& x, const Context& context) const;

 private:
  BatchNormalization* norm_ = nullptr;
  double highest_ = std::numeric_limits<double>::infinity();  // that the relu gives
};

}  // namespace ronde::inline v0
