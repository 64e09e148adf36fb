#include "cuda/fake/oracle.h"

#include <ronde/core/storage.h>

#include "backend/bf16/in_float.h"
#include "cuda/fake/scheduler.h"

namespace ronde::test {

namespace {

using cuda::Attributes;
using cuda::Op;
using cuda::Operand;

Tensor tensor_of(const Operand& x, CpuBackend& oracle, const std::function<void*(const void*)>& behind) {
  if (!x.defined) return {};
  static const std::shared_ptr<const void> nobody = std::make_shared<int>();
  const std::size_t bytes = static_cast<std::size_t>(x.reach()) * size_of(x.dtype);
  auto storage = std::make_shared<Storage>(oracle, bytes > 0 ? behind(x.data) : nullptr, bytes, nobody);
  const auto rank = static_cast<std::size_t>(x.rank);
  return Tensor::over(std::move(storage), Shape(std::span(x.shape.data(), rank)),
                      Shape(std::span(x.strides.data(), rank)), x.dtype);
}

using Operands = std::array<Tensor, cuda::Call::kMaxOperands>;

void run(Op op, CpuBackend& o, const Attributes& a, const Operands& t) {
  switch (op) {
    case Op::matmul:
      return o.matmul(t[0], t[1], t[2], a.matmul);
    case Op::dense:
      if (t[4].defined()) return o.dense_dropout(t[0], t[1], t[2], t[3], a.epilogue, t[4], a.dropout);
      return o.dense(t[0], t[1], t[2], t[3], a.epilogue);
    case Op::dense_backward_weight:
      return o.dense_backward_weight(t[0], t[1], t[2], t[3]);
    case Op::conv2d:
      return o.conv2d(t[0], t[1], t[2], t[3], a.conv, a.epilogue);
    case Op::conv2d_backward_input:
      return o.conv2d_backward_input(t[0], t[1], t[2], a.conv);
    case Op::conv2d_backward_weight:
      return o.conv2d_backward_weight(t[0], t[1], t[2], t[3], a.conv);
    default:
      throw DeviceLost("no library computes this");
  }
}

}  // namespace

void run_on_oracle(const cuda::Call& call, CpuBackend& oracle,
                   const std::function<void*(const void*)>& behind) {
  Operands tensors;
  for (int i = 0; i < call.operands; ++i)
    tensors[static_cast<std::size_t>(i)] = tensor_of(call[i], oracle, behind);
  Operands computed = tensors;
  for (Tensor& t : computed)
    if (is_bfloat16(t)) t = t.to(DType::f32);
  run(call.op, oracle, call.attributes, computed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(call.outputs); ++i)
    if (is_bfloat16(tensors[i])) oracle.copy(tensors[i], computed[i]);
}

}  // namespace ronde::test
