#include "cuda/operand_of.h"

namespace ronde::inline v0::cuda {

Operand operand_of(const Tensor& tensor) {
  Operand result;
  result.defined = tensor.defined();
  if (!result.defined) return result;
  result.dtype = tensor.dtype();
  result.rank = tensor.rank();
  for (int i = 0; i < tensor.rank(); ++i) {
    result.shape[static_cast<std::size_t>(i)] = tensor.size(i);
    result.strides[static_cast<std::size_t>(i)] = tensor.strides()[i];
  }
  if (tensor.count() > 0) result.data = tensor.raw();
  return result;
}

}  // namespace ronde::inline v0::cuda
