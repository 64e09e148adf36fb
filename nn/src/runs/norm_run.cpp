#include "runs/norm_run.h"

namespace ronde::inline v0 {

NormRun::NormRun(std::span<Module* const> layers, const Variable&, const Context&) : LayerRun(layers) {
  norm_ = next<BatchNormalization>();
  if (norm_) activation_ = next_activation();
}

Variable NormRun::operator()(const Variable& x, const Context& context) const {
  return norm_->forward_with(activation_, first().in_compute_dtype(x), context);
}

}  // namespace ronde::inline v0
