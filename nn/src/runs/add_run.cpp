#include "runs/add_run.h"

namespace ronde::inline v0 {

AddRun::AddRun(std::span<Module* const> layers, const std::vector<Variable>& inputs, const Context&)
    : LayerRun(layers) {
  if (inputs.size() != 2) return;
  add_ = next<Add>();
  if (add_) next_relu();
}

Variable AddRun::operator()(const std::vector<Variable>& inputs, const Context&) const {
  return add_->join_with_relu(add_->in_compute_dtype(inputs[0]), add_->in_compute_dtype(inputs[1]));
}

}  // namespace ronde::inline v0
