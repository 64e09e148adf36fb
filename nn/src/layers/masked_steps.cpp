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
  return mask.to(x.dtype()).to(x.value().backend()).reshape({steps[0], steps[1], 1});
}

Tensor mask_by_step(const Module& layer, const Variable& x) {
  const Tensor mask = mask_column(layer, x);
  if (!mask.defined()) return {};
  return mask.reshape({mask.size(0), mask.size(1)}).permute({1, 0}).contiguous();
}

Variable zeroed(const Variable& y, const Tensor& mask) {
  if (!mask.defined()) return y;
  Shape column = y.shape();
  column[column.rank() - 1] = 1;
  return y * Variable(mask.reshape(column));
}

MaskedSteps::MaskedSteps(const Tensor& mask, bool backwards) {
  if (!mask.defined()) return;
  const Tensor others = complement(mask);
  for (std::int64_t t = 0; t < mask.size(0); ++t) {
    counts_.push_back(mask.slice(0, t, t + 1).reshape({mask.size(1)}));
    rest_.push_back(others.slice(0, t, t + 1).reshape({mask.size(1), 1}));
  }
  if (!backwards) return;
  std::reverse(counts_.begin(), counts_.end());
  std::reverse(rest_.begin(), rest_.end());
}

Variable MaskedSteps::left_out(std::size_t step, const Variable& y, const Variable& before) const {
  if (counts_.empty() || y.same_as(before)) return y;
  return zeroed(y, counts_[step]) + before * Variable(rest_[step]);
}

}  // namespace ronde::inline v0
