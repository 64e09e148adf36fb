#include "ops/checks.h"

#include <algorithm>
#include <limits>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>

namespace ronde::inline v0 {

void require_floating(const char* op, const Tensor& x) {
  require(x.defined(), "[", op, "] an input is undefined");
  require(is_floating(x.dtype()), "[", op, "] expects a floating dtype, got ", x);
}

void require_same_backend(const char* op, const Tensor& a, const Tensor& b, const char* what) {
  require(&a.backend() == &b.backend(), "[", op, "] ", what,
          " lie on different backends: ", a.backend().name(), " and ", b.backend().name(),
          "; x.to(y.backend()) moves x to where y lies, x.to(default_backend()) to where new tensors do");
}

void require_alike(const char* op, const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), "[", op, "] an input is undefined");
  require(a.dtype() == b.dtype(), "[", op, "] inputs differ in dtype: ", a, " and ", b);
  require_same_backend(op, a, b);
}

void require_weight(const char* op, const Tensor& x, const Tensor& weight) {
  require(x.defined() && weight.defined(), "[", op, "] an input is undefined");
  if (x.dtype() != DType::bf16 || weight.dtype() != DType::f32) return require_alike(op, x, weight);
  require_same_backend(op, x, weight);
}

void require_rank(const char* op, const char* what, const Tensor& x, int rank, const char* layout) {
  require(x.defined(), "[", op, "] ", what, " is undefined");
  require(x.rank() == rank, "[", op, "] ", what, " must be ", layout, ", got shape ", x.shape());
}

int resolve_axis(const char* op, const Tensor& x, std::int64_t axis) {
  require(axis >= -x.rank() && axis < x.rank(), "[", op, "] axis ", axis, " of shape ", x.shape());
  return static_cast<int>(axis < 0 ? axis + x.rank() : axis);
}

void require_indices(const char* op, const Tensor& indices) {
  require(indices.defined() && (indices.dtype() == DType::i32 || indices.dtype() == DType::i64), "[", op,
          "] expects indices of i32 or i64, got ", indices);
}

Tensor indices_in_i32(const Tensor& indices) {
  if (indices.dtype() != DType::i64) return indices.contiguous();
  // Of an i64 a device would keep the lower half, but it makes the nearest i32 of an f64.
  if (indices.backend().device().type != DeviceType::cpu) return indices.to(DType::f64).to(DType::i32);
  using Limits = std::numeric_limits<std::int32_t>;
  const Tensor wide = indices.contiguous(),
               narrow = Tensor::empty(indices.shape(), {.dtype = DType::i32, .backend = &indices.backend()});
  const auto* from = wide.data<std::int64_t>();
  auto* to = narrow.data<std::int32_t>();
  for (std::int64_t i = 0; i < wide.count(); ++i)
    to[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(from[i], Limits::min(), Limits::max()));
  return narrow;
}

void require_per_channel(const char* op, const char* what, const Tensor& x, const Tensor& weight) {
  require_weight(op, x, weight);
  require(weight.shape() == Shape{x.size(-1)}, "[", op, "] ", what, " must be (", x.size(-1),
          ",) for an input of shape ", x.shape(), ", got shape ", weight.shape());
}

void require_dense(const char* op, const Tensor& x, const Tensor& weight, const Variable& bias) {
  require_rank(op, "input", x, 2, "(n, in)");
  require_rank(op, "weight", weight, 2, "(in, units)");
  require_weight(op, x, weight);
  require_floating(op, x);
  require(x.size(1) == weight.size(0), "[", op, "] weight expects ", counted(weight.size(0), "input"),
          ", got ", x.size(1));
  if (!bias.defined()) return;
  require_weight(op, x, bias.value());
  require(bias.shape() == Shape{weight.size(1)}, "[", op, "] bias must be (", weight.size(1),
          ",), got shape ", bias.shape());
}

void require_dropout(const Tensor& x, const Tensor& sample_keys, const DropoutParams& params) {
  require<UsageError>(params.rate >= 0.0 && params.rate < 1.0, "[dropout] rate must be in [0, 1), got ",
                      params.rate);
  require_floating("dropout", x);
  require(x.rank() > 0, "[dropout] input must be (n, ...), got a scalar");
  require(sample_keys.defined() && sample_keys.dtype() == DType::i64 &&
              sample_keys.shape() == Shape{x.size(0), 2},
          "[dropout] sample keys must be i64 (", x.size(0), ", 2), got ", sample_keys, ": the first axis of ",
          x.shape(), " is that of the samples");
  require_same_backend("dropout", x, sample_keys, "input and sample keys");
}

Tensor weight_value(const Tensor& weight, const Tensor& x) {
  const bool is_rounded = x.dtype() == DType::bf16 && weight.dtype() == DType::f32;
  return is_rounded ? weight.backend().rounded(weight) : weight.contiguous();
}

Tensor bias_value(const Variable& bias, const Tensor& x) {
  return bias.defined() ? weight_value(bias.value(), x) : Tensor();
}

Tensor dense_value(const Variable& x) {
  return x.defined() ? x.value().contiguous() : Tensor();
}

}  // namespace ronde::inline v0
