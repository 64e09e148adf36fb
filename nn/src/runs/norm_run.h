/// NormRun: layers that one call of batch_norm computes:
///
///     BatchNormalization -> Activation, ReLU or LeakyReLU
///     BatchNormalization -> Add, of that and one more [-> Activation(relu) or ReLU], as ends a residual block
#pragma once

#include <span>

#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/merge.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class NormRun : public LayerRun {
 public:
  /// The longest one that `layers` begin with.
  NormRun(std::span<Module* const> layers, const RunInput& input, const Context&);

  Variable operator()(const RunInput& input, const Context& context) const;

 private:
  BatchNormalization* norm_ = nullptr;
  Add* add_ = nullptr;
  UnaryStage activation_;
};

}  // namespace ronde::inline v0
