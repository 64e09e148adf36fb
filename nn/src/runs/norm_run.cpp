#include "runs/norm_run.h"

namespace ronde::inline v0 {

NormRun::NormRun(std::span<Module* const> layers, const RunInput& input, const Context&) : LayerRun(layers) {
  norm_ = next<BatchNormalization>();
  if (!norm_) return;
  add_ = next_add(input, input.x.shape().tail(1));
  activation_ = add_ ? next_relu() : next_activation();
}

Variable NormRun::operator()(const RunInput& input, const Context& context) const {
  return norm_->forward_with(activation_, norm_->in_compute_dtype(input.x), context,
                             add_ ? add_->in_compute_dtype(input.addend) : Variable());
}

}  // namespace ronde::inline v0
