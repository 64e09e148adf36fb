/// Call: one kernel of a device as plain data: what to compute, on which memory, with which attributes.
///
/// `CudaBackend` turns every kernel of `Backend` into a Call; a `Runtime` enqueues it. Nothing here needs a
/// toolkit, nor more than a header of core, so a module on either side of the interface may include it.
#pragma once

#include <array>
#include <cstdint>

#include <ronde/core/dtype_code.h>
#include <ronde/core/kernel_params.h>

namespace ronde::inline v0::cuda {

/// Note [Fused kernels]
/// What would go through memory again is done where it is in registers. One kernel makes
///
///     forward     behind a convolution: bias, relu           conv2d
///                 pooling, dropout                           max_pool2d with sample keys
///                 behind a dense product: bias (unless       dense: ProductPlan
///                 cuBLASLt adds it), relu, dropout
///                 batch norm, relu                           batch_norm with that epilogue
///                 a sum of two, relu                         binary: BinaryOp::add_relu
///     gradients   of dropout, pooling, the relu in front     max_pool2d_backward
///                 and the bias in front of that
///                 of a relu and the bias in front of it      relu_backward
///                 of batch norm and the relu behind it       batch_norm_backward; not of a frozen one
///
/// `ronde_gpu_step` (tests/cuda) lists what a step consists of, and how much memory its kernels go through.
/// What it counts as one operation may be two kernels: sums by pieces and then their sum, a product and what
/// is behind it.

/// Named as the kernels of Backend, which say what each one computes. Operands: outputs first, then inputs,
/// each in Backend's order.
enum class Op : std::uint8_t {
  fill,
  copy,
  unary,
  unary_backward,
  relu_backward,  ///< a third output, if there is a second: scratch for its sums
  binary,
  accumulate,
  reduce,
  argmax,
  sum_of_squares,
  square_sums,  ///< of sum_of_squares, by as many pieces of x as out has elements
  count_correct,
  matmul,
  dense,  ///< with sample keys as a fifth operand: and dropout of the result
  dense_backward_weight,
  gather_rows,
  gather_scaled,
  change_pictures,
  scatter_add_rows,
  conv2d,
  conv2d_backward_input,
  conv2d_backward_weight,
  max_pool2d,  ///< with sample keys as a fourth operand: and dropout of the result
  /// With y as a fourth operand, max_pool2d's result with a relu before and perhaps a dropout behind: the
  /// gradient through these too, `value` * grad_out where y is positive. Two more outputs, both or none: the
  /// gradient of a bias in front of all that, and scratch for its sums.
  max_pool2d_backward,
  average_pool2d,
  average_pool2d_backward,
  softmax,
  softmax_backward,
  log_softmax,
  log_softmax_backward,
  softmax_cross_entropy,
  softmax_cross_entropy_backward,
  dropout,
  batch_statistics,  ///< a third output: scratch for sums, f64 (pieces_of_rows(rows), 2, channels)
  batch_norm,        ///< with the epilogue relu: and that, which gives no more than `value`
  /// A fourth output: the same. Through such a relu too.
  batch_norm_backward,
  layer_norm,
  layer_norm_backward,  ///< a fourth output: scratch for sums, as batch_statistics'; undefined where none is
                        ///< wanted
  sgd_step,
  rmsprop_step,
  adam_step,
  adadelta_step,
  adagrad_step,
};

/// Sums over so many rows are made by so many pieces, beside each other on the device. Scratch for the
/// gradient of a bias: f64 (pieces_of_rows(rows), channels).
constexpr std::int64_t pieces_of_rows(std::int64_t rows) {
  constexpr std::int64_t kRows = 64, kMost = 512;
  return rows <= kRows ? 1 : (rows > kRows * kMost ? kMost : (rows + kRows - 1) / kRows);
}

/// A strided view of device memory.
struct Operand {
  static constexpr int kMaxRank = 8;

  void* data = nullptr;  ///< nullptr: not wanted, or of no elements
  bool defined = false;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};  ///< in elements

  std::int64_t count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= shape[static_cast<std::size_t>(i)];
    return product;
  }
  /// Elements from the first to the last that is reached, both included.
  std::int64_t reach() const {
    if (count() == 0) return 0;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) last += (shape[i] - 1) * strides[i];
    return last + 1;
  }
};

/// The numbers of an optimizer's step, those of the other optimizers included.
struct StepNumbers {
  StepParams step = {};
  SgdParams sgd = {};
  RmspropParams rmsprop = {};
  AdamParams adam = {};
  AdadeltaParams adadelta = {};
  AdagradParams adagrad = {};
};

/// What a kernel needs beside its operands; each reads its own few.
struct Attributes {
  double value = 0.0;   ///< of fill; alpha of accumulate; smoothing of the losses; scale of a dropout; of a
                        ///< relu; epsilon of a layer norm
  double offset = 0.0;  ///< of gather_scaled, whose scale is `value`
  UnaryOp unary = UnaryOp::affine;
  BinaryOp binary = BinaryOp::add;
  ReduceOp reduce = ReduceOp::sum;
  Epilogue epilogue = Epilogue::none;
  Products products = Products::precise;  ///< of a product's or convolution's f32 operands
  UnaryParams unary_params = {};
  MatmulParams matmul = {};
  Conv2dParams conv = {};
  Pool2dParams pool = {};
  DropoutParams dropout = {};
  PictureParams pictures = {};
  BatchNormParams batch_norm = {};
  StepNumbers step = {};
};

struct Call {
  static constexpr int kMaxOperands = 10;

  Op op = Op::fill;
  int outputs = 0;   ///< so many operands are written, perhaps read too
  int operands = 0;  ///< all, undefined ones included
  std::array<Operand, kMaxOperands> tensors{};
  Attributes attributes{};
  /// Of an optimizer's step: device memory from which it reads its numbers when it runs, instead of
  /// `attributes.step`; which of its forms it takes is decided by the latter all the same. nullptr: none.
  const StepNumbers* numbers = nullptr;
  /// Of those that `has_gate`: an f64 in device memory; where that is not finite by then, the kernel changes
  /// nothing, but rounds weights all the same. nullptr: none.
  const double* gate = nullptr;
  /// Of an optimizer's step: where the new weights go a second time, rounded to bf16. Undefined: nowhere.
  Operand rounded = {};

  const Operand& operator[](int i) const { return tensors[static_cast<std::size_t>(i)]; }
};

constexpr bool is_optimizer_step(Op op) {
  switch (op) {
    case Op::sgd_step:
    case Op::rmsprop_step:
    case Op::adam_step:
    case Op::adadelta_step:
    case Op::adagrad_step:
      return true;
    default:
      return false;
  }
}

/// What updates weights, sums of losses and counts.
constexpr bool has_gate(Op op) {
  return is_optimizer_step(op) || op == Op::accumulate || op == Op::count_correct;
}

/// How products of floats are rounded.
enum class MathMode : std::uint8_t {
  f32,   ///< IEEE floats throughout
  tf32,  ///< factors with 10 bits of mantissa, sums in floats: what tensor cores take
};

/// Which of a library's algorithms for a convolution are taken.
enum class Engines : std::uint8_t {
  fastest,        ///< by trial, also of those whose sums vary in their last bits each time
  tuned,          ///< by trial, of those that give the same bits each time; another process may take another
  deterministic,  ///< the first such one, the same in each process
};

/// What a library may choose among its algorithms by.
struct MathOptions {
  MathMode mode = MathMode::f32;
  Engines engines = Engines::tuned;
};

}  // namespace ronde::inline v0::cuda
