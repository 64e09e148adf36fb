#include "backend/bf16/in_float.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

Tensor KernelArgument::widened() const {
  if (!is_bfloat16(tensor)) return tensor;
  if (access != Access::written) return tensor.to(DType::f32);
  return Tensor::empty(tensor.shape(), {.dtype = DType::f32, .backend = &tensor.backend()});
}

void KernelArgument::round(const Tensor& wide) const {
  if (is_bfloat16(tensor) && access != Access::read) tensor.backend().copy(tensor, wide);
}

}  // namespace ronde::inline v0
