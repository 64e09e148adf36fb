/// NormAddRun: layers that one call of batch_norm computes, as at the end of a residual block:
///
///     BatchNormalization -> Add, of that and one more -> Activation(relu) or ReLU, if there is one
#pragma once

#include <span>
#include <vector>

#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/merge.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class NormAddRun : public LayerRun {
 public:
  /// The one that `layers` begin with, for the input of the first and the addend of the second.
  NormAddRun(std::span<Module* const> layers, const std::vector<Variable>& inputs, const Context&);

  Variable operator()(const std::vector<Variable>& inputs, const Context& context) const;

 private:
  BatchNormalization* norm_ = nullptr;
  Add* add_ = nullptr;
  UnaryStage activation_;
};

}  // namespace ronde::inline v0
