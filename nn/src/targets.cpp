#include "targets.h"

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>

namespace ronde::inline v0 {

void check_like_outputs(const std::string& what, const Tensor& target, const Shape& outputs) {
  const bool is_column = outputs.rank() == 2 && outputs[1] == 1 && target.shape() == Shape{outputs[0]};
  require(outputs.rank() >= 1 && (is_column || target.shape() == outputs), "[", what,
          "] expects targets of shape ", outputs, ", got ", target.shape());
}

Tensor class_labels(const std::string& what, const Tensor& target, const Shape& outputs) {
  if (target.rank() == 1) {
    require(target.size(0) == outputs[0], "[", what, "] expects ", counted(outputs[0], "label"), ", got ",
            target.size(0));
    return target.to(DType::i32).contiguous();
  }
  require(target.shape() == outputs, "[", what, "] expects labels (", outputs[0], ") or one-hot rows ",
          outputs, ", got ", target.shape());
  const Tensor indices = Tensor::empty({outputs[0]}, {.dtype = DType::i64, .backend = &target.backend()});
  target.backend().argmax(indices, target.contiguous());
  return indices.to(DType::i32);
}

}  // namespace ronde::inline v0
