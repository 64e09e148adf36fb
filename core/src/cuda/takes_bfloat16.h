/// Which calls have a kernel that reads and writes bf16 where it lies: computed in float, rounded once. A
/// runtime refuses the others, which `CudaBackend` gives float copies.
#pragma once

#include <ronde/core/dtype.h>

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

inline bool has_bfloat16(const Call& call) {
  for (int i = 0; i < call.operands; ++i)
    if (call[i].defined && call[i].dtype == DType::bf16) return true;
  return false;
}

/// Whether all that a product or convolution multiplies is bf16, so that its products are exact in float and
/// in TF32. Factors are the first two operands behind its results.
inline bool multiplies_bfloat16(const Call& call) {
  return call[call.outputs].dtype == DType::bf16 && call[call.outputs + 1].dtype == DType::bf16;
}

/// What operand `i` may be where others are bf16: the gradient of a weight, a bias, statistics, sums and what
/// a loss is made of are f32 in mixed precision.
constexpr DType beside_bfloat16(Op op, int i) {
  switch (op) {
    case Op::sum_of_squares:
    case Op::square_sums:
      return i == 0 ? DType::f64 : DType::bf16;
    case Op::reduce:
    case Op::matmul:
      return i == 0 ? DType::f32 : DType::bf16;
    case Op::dense:
    case Op::conv2d:
      return i == 3 ? DType::f32 : DType::bf16;
    case Op::batch_statistics:
      return i == 2 ? DType::f64 : i < 2 ? DType::f32 : DType::bf16;
    case Op::conv2d_backward_weight:
    case Op::dense_backward_weight:
    case Op::softmax_cross_entropy:
      return i < 2 ? DType::f32 : DType::bf16;
    case Op::softmax_cross_entropy_backward:
      return i == 0 ? DType::bf16 : DType::f32;
    case Op::relu_backward:
    case Op::max_pool2d_backward:
      return i == 2 ? DType::f64 : i == 1 ? DType::f32 : DType::bf16;
    case Op::batch_norm:
      return i > 1 ? DType::f32 : DType::bf16;
    case Op::layer_norm:
      return i != 0 && i != 3 ? DType::f32 : DType::bf16;
    case Op::batch_norm_backward:
    case Op::layer_norm_backward:
      return i == 3 ? DType::f64 : i == 1 || i == 2 || i > 5 ? DType::f32 : DType::bf16;
    default:
      return DType::bf16;
  }
}

/// Whether there is such a kernel at all; scatter_add_rows would round each time that it adds to a row.
constexpr bool may_take_bfloat16(Op op) {
  return op < Op::sgd_step && op != Op::gather_scaled && op != Op::change_pictures &&
         op != Op::scatter_add_rows;
}

/// Why a call goes by float copies; nullptr: there is a kernel that takes it as it is. Of those operands that
/// may be f32 either all are or none.
inline const char* why_not_bfloat16(const Call& call) {
  if (call.op == Op::fill || call.op == Op::copy || !has_bfloat16(call)) return nullptr;
  if (call.op == Op::scatter_add_rows) return "what comes to a row is added up in float32";
  if (!may_take_bfloat16(call.op)) return "there is no such kernel";
  constexpr const char* kMixture = "no kernel takes this mixture of bfloat16 and float32";
  const Operand* single = nullptr;
  for (int i = 0; i < call.operands; ++i) {
    const Operand& x = call[i];
    if (!x.defined || !is_floating(x.dtype)) continue;
    const DType beside = beside_bfloat16(call.op, i);
    if (x.dtype != DType::bf16 && x.dtype != beside) return kMixture;
    if (beside != DType::f32) continue;
    if (single && single->dtype != x.dtype) return kMixture;
    single = &x;
  }
  return nullptr;
}

inline bool takes_bfloat16(const Call& call) {
  return why_not_bfloat16(call) == nullptr;
}

}  // namespace ronde::inline v0::cuda
