/// AddRun: layers that one call of add_relu computes, as at the end of a residual block:
///
///     Add, of two inputs -> Activation(relu) or ReLU
#pragma once

#include <span>
#include <vector>

#include <ronde/nn/merge.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class AddRun : public LayerRun {
 public:
  /// The one that `layers` begin with, for these inputs.
  AddRun(std::span<Module* const> layers, const std::vector<Variable>& inputs, const Context&);

  Variable operator()(const std::vector<Variable>& inputs, const Context& context) const;

 private:
  Add* add_ = nullptr;
};

}  // namespace ronde::inline v0
