#include "losses/loss_operands.h"

#include <ronde/core/ops.h>

#include "losses/targets.h"

namespace ronde::inline v0 {

LossOperands loss_operands(const std::string& loss, const Variable& output, const Tensor& target) {
  check_like_outputs(loss, target, output.shape());
  const Variable x = precise(output);
  return {x, target.reshape(output.shape()).to(x.dtype())};
}

Variable mean_of_samples(const Variable& values) {
  if (values.rank() == 1) return values;
  return mean(reshape(values, {values.size(0), values.shape().tail(1).count()}), {.axes = {1}});
}

}  // namespace ronde::inline v0
