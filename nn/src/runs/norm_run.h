/// NormRun: layers that one call of batch_norm computes:
///
///     BatchNormalization -> Activation, ReLU or LeakyReLU
#pragma once

#include <span>

#include <ronde/nn/batch_normalization.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class NormRun : public LayerRun {
 public:
  /// The one that `layers` begin with, for an input x.
  NormRun(std::span<Module* const> layers, const Variable& x, const Context&);

  Variable operator()(const Variable& x, const Context& context) const;

 private:
  BatchNormalization* norm_ = nullptr;
  UnaryStage activation_;
};

}  // namespace ronde::inline v0
