/// DenseRun: layers of a Sequential that one call of dense_dropout computes:
///
///     Dense with a relu -> Dropout
#pragma once

#include <span>

#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>

#include "runs/layer_run.h"

namespace ronde::inline v0 {

class DenseRun : public LayerRun {
 public:
  /// The one that `layers` begin with, for an input x.
  DenseRun(std::span<Module* const> layers, const Variable& x, const Context&);

  Variable operator()(const Variable& x, const Context& context) const;

 private:
  Dense* dense_ = nullptr;
  Dropout* dropout_ = nullptr;
};

}  // namespace ronde::inline v0
