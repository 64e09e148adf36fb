#include "loss_operands.h"

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

Variable precise(const Variable& x) {
  return x.defined() && x.dtype() == DType::bf16 ? cast(x, DType::f32) : x;
}

LossOperands loss_operands(const std::string& loss, const Variable& output, const Tensor& target) {
  const Shape& shape = output.shape();
  const bool is_column = shape.rank() == 2 && shape[1] == 1 && target.shape() == Shape{shape[0]};
  require(shape.rank() >= 1 && (is_column || target.shape() == shape), "[", loss,
          "] expects targets of shape ", shape, ", got ", target.shape());
  const Variable x = precise(output);
  return {x, target.reshape(shape).to(x.dtype())};
}

Variable mean_of_samples(const Variable& values) {
  if (values.rank() == 1) return values;
  return mean(reshape(values, {values.size(0), values.shape().tail(1).count()}), {.axes = {1}});
}

}  // namespace ronde::inline v0
