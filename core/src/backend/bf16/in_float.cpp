#include "backend/bf16/in_float.h"

#include <algorithm>

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

FloatTensors::FloatTensors(std::span<const KernelArgument> arguments) : arguments_(arguments) {
  const auto is_rounded = [](const KernelArgument& argument) { return is_bfloat16(argument.tensor); };
  if (std::none_of(arguments.begin(), arguments.end(), is_rounded)) return;
  wide_.reserve(arguments.size());
  for (const KernelArgument& argument : arguments) wide_.push_back(argument.widened());
}

void FloatTensors::round() const {
  for (std::size_t i = 0; i < wide_.size(); ++i) arguments_[i].round(wide_[i]);
}

}  // namespace ronde::inline v0
