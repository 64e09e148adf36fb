#include "layers/masked_steps.h"

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

namespace ronde::inline v0 {

namespace {

/// 1 - x
Tensor complement(const Tensor& x) {
  const Tensor result = Tensor::empty_like(x);
  x.backend().unary(UnaryOp::affine, result, x, {.alpha = -1.0, .beta = 1.0});
  return result;
}

}  // namespace

Tensor mask_without(const Tensor& x, double value) {
  const Tensor is_out = Tensor::empty_like(x);
  x.backend().binary(BinaryOp::equal, is_out, x, Tensor::full({1}, value, x.options()).broadcast_to(x.shape()));
  return complement(is_out.to(DType::f32));
}

Tensor mask_column(const Module& layer, const Variable& x) {
  const Tensor& mask = x.mask();
  if (!mask.defined()) return {};
  const Shape steps{x.size(0), x.size(1)};
  require(mask.shape() == steps, "[", layer.label(), "] expects a mask of shape ", steps, " beside inputs of shape ",
          x.shape(), ", got ", mask.shape());
  return mask.to(x.dtype()).reshape({steps[0], steps[1], 1});
}

MaskedSteps::MaskedSteps(const Module& layer, const Variable& x) {
  const Tensor mask = mask_column(layer, x);
  if (!mask.defined()) return;
  const Tensor others = complement(mask);
  for (std::int64_t t = 0; t < mask.size(1); ++t) {
    counts_.push_back(mask.slice(1, t, t + 1).reshape({mask.size(0), 1}));
    rest_.push_back(others.slice(1, t, t + 1).reshape({mask.size(0), 1}));
  }
}

void MaskedSteps::reverse() {
  std::reverse(counts_.begin(), counts_.end());
  std::reverse(rest_.begin(), rest_.end());
}

Variable MaskedSteps::left_out(std::size_t step, const Variable& y, const Variable& before) const {
  if (!are_there() || y.same_as(before)) return y;
  return y * counts_[step] + before * rest_[step];
}

Variable MaskedSteps::zeroed(std::size_t step, const Variable& y) const {
  return are_there() ? y * counts_[step] : y;
}

}  // namespace ronde::inline v0
