#include "norm_run.h"

namespace ronde::inline v0 {

NormRun::NormRun(std::span<Module* const> layers, const Variable&) : LayerRun(layers) {
  norm_ = next<BatchNormalization>();
  if (norm_ && !next_is_relu() && next_is_relu6()) highest_ = 6.0;
}

Variable NormRun::operator()(const Variable& x, const Context& context) const {
  return norm_->forward_with_relu(first().in_compute_dtype(x), context, highest_);
}

}  // namespace ronde::inline v0
