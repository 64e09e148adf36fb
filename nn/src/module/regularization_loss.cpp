#include <ronde/nn/regularization_loss.h>

#include "module/penalty.h"

namespace ronde::inline v0 {

namespace {

Tensor zero_on(const Tensor& weights) {
  return Tensor::zeros({}, {.dtype = DType::f64, .backend = &weights.backend()});
}

}  // namespace

Tensor regularization_loss(const Module& net) {
  const std::vector<Parameter> parameters = net.parameters();
  if (parameters.empty()) return Tensor::zeros({}, {.dtype = DType::f64});
  const Tensor total = zero_on(parameters.front().variable.value());
  for (const Parameter& parameter : parameters) {
    const Tensor& weights = parameter.variable.value();
    if (parameter.variable.requires_grad())
      add_penalty(total, weights.reshape({weights.count()}), parameter.regularizer);
  }
  return total;
}

void add_regularization_loss(const Tensor& total, const ParameterArena& arena) {
  if (!arena.is_regularized()) return;
  for (const Segment& segment : arena.segments())
    add_penalty(total, arena.values().view(segment.offset, {segment.count}), segment.regularizer);
}

}  // namespace ronde::inline v0
