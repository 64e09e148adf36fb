#include "losses/targets.h"

#include <span>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

void check_like_outputs(const std::string& what, const Tensor& target, const Shape& outputs) {
  const bool lacks_last =
      outputs.rank() >= 2 && outputs.back() == 1 && target.shape() == positions_of(outputs);
  require(outputs.rank() >= 1 && (lacks_last || target.shape() == outputs), "[", what,
          "] expects targets of shape ", outputs, ", got ", target.shape());
}

void check_as_many(const std::string& what, const Tensor& target, const Shape& outputs) {
  require(target.rank() >= 1 && target.size(0) == outputs[0], "[", what, "] expects targets for outputs ",
          outputs, ", got ", target.shape());
}

Shape positions_of(const Shape& outputs) {
  return Shape(std::span(outputs.begin(), outputs.end() - 1));
}

Shape rows_of(const Shape& outputs) {
  return {positions_of(outputs).count(), outputs.back()};
}

bool may_be_labels(const Shape& targets, const Shape& outputs) {
  Shape column = positions_of(outputs);
  if (targets == column) return true;
  column.push_back(1);
  return targets == column;
}

Tensor class_labels(const std::string& what, const Tensor& target, const Shape& outputs) {
  const Shape rows = rows_of(outputs);
  if (target.shape() != outputs) {
    require(may_be_labels(target.shape(), outputs), "[", what, "] expects labels ", positions_of(outputs),
            " or one-hot rows ", outputs, ", got ", target.shape());
    return target.to(DType::i32).contiguous().reshape({rows[0]});
  }
  const Tensor indices = Tensor::empty({rows[0]}, {.dtype = DType::i64, .backend = &target.backend()});
  const Tensor one_hot = is_floating(target.dtype()) ? target : target.to(DType::f32);
  target.backend().argmax(indices, one_hot.contiguous().reshape(rows));
  return indices.to(DType::i32);
}

}  // namespace ronde::inline v0
