#include "runs/norm_add_run.h"

namespace ronde::inline v0 {

NormAddRun::NormAddRun(std::span<Module* const> layers, const std::vector<Variable>& inputs, const Context&)
    : LayerRun(layers) {
  norm_ = next<BatchNormalization>();
  if (norm_) add_ = next<Add>();
  if (!add_ || inputs[0].shape() != inputs[1].shape())
    clear();
  else if (next_is_relu())
    activation_ = {.op = UnaryOp::relu};
}

Variable NormAddRun::operator()(const std::vector<Variable>& inputs, const Context& context) const {
  return norm_->forward_with(activation_, norm_->in_compute_dtype(inputs[0]), context,
                             add_->in_compute_dtype(inputs[1]));
}

}  // namespace ronde::inline v0
