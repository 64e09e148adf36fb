#include "norm_run.h"

#include <ronde/nn/activation.h>
#include <ronde/nn/relu.h>

namespace ronde::inline v0 {

namespace {

bool is_relu(const Activation& layer) {
  return layer.kind() == Activation::relu;
}

bool is_plain(const ReLU& layer) {
  return !layer.options().max_value && layer.options().negative_slope == 0.0;
}

}  // namespace

NormRun::NormRun(std::span<Module* const> layers, const Variable&) : LayerRun(layers) {
  norm_ = next<BatchNormalization>();
  if (norm_ && !next<Activation>(is_relu)) next<ReLU>(is_plain);
}

Variable NormRun::operator()(const Variable& x, const Context& context) const {
  return norm_->forward_with_relu(first().in_compute_dtype(x), context);
}

}  // namespace ronde::inline v0
