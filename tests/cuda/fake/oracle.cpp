#include "cuda/fake/oracle.h"

#include <ronde/core/storage.h>

#include "backend/bf16/in_float.h"

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

void square_sums(CpuBackend& oracle, const Tensor& sums, const Tensor& x) {
  const std::int64_t pieces = sums.count(), count = x.count();
  for (std::int64_t p = 0; p < pieces; ++p) {
    const std::int64_t begin = count * p / pieces, end = count * (p + 1) / pieces;
    oracle.sum_of_squares(sums.view(p, {}), x.view(begin, {end - begin}));
  }
}

using Operands = std::array<Tensor, cuda::Call::kMaxOperands>;

void pool_and_drop(CpuBackend& oracle, const Attributes& a, const Operands& t) {
  const Tensor pooled = Tensor::empty(t[0].shape(), {.dtype = t[0].dtype(), .backend = &oracle});
  oracle.max_pool2d(pooled, t[1], t[2], a.pool);
  oracle.dropout(t[0], pooled, t[3], a.dropout);
}

// The gradient t[1] of a dropout's result t[3] -> that of what the relu before it got.
Tensor before_relu(CpuBackend& oracle, const Attributes& a, const Operands& t) {
  const Tensor grad = Tensor::empty(t[1].shape(), {.dtype = t[1].dtype(), .backend = &oracle});
  oracle.unary(UnaryOp::affine, grad, t[1], {.alpha = a.value, .beta = 0.0});
  oracle.unary_backward(UnaryOp::relu, grad, grad, t[3], t[3], {});
  return grad;
}

void run(Op op, CpuBackend& o, const Attributes& a, const cuda::StepNumbers& n, const Operands& t) {
  switch (op) {
    case Op::fill:
      return o.fill(t[0], a.value);
    case Op::copy:
      return o.copy(t[0], t[1]);
    case Op::unary:
      return o.unary(a.unary, t[0], t[1], a.unary_params);
    case Op::unary_backward:
      return o.unary_backward(a.unary, t[0], t[1], t[2], t[3], a.unary_params);
    case Op::binary:
      return o.binary(a.binary, t[0], t[1], t[2]);
    case Op::accumulate:
      return o.accumulate(t[0], t[1], a.value);
    case Op::reduce:
      return o.reduce(a.reduce, t[0], t[1]);
    case Op::argmax:
      return o.argmax(t[0], t[1]);
    case Op::sum_of_squares:
      return o.sum_of_squares(t[0], t[1]);
    case Op::square_sums:
      return square_sums(o, t[0], t[1]);
    case Op::count_correct:
      return o.count_correct(t[0], t[1], t[2]);
    case Op::matmul:
      return o.matmul(t[0], t[1], t[2], a.matmul);
    case Op::dense:
      return o.dense(t[0], t[1], t[2], t[3], a.epilogue);
    case Op::gather_rows:
      return o.gather_rows(t[0], t[1], t[2]);
    case Op::gather_scaled:
      return o.gather_scaled(t[0], t[1], t[2], a.value, a.offset);
    case Op::scatter_add_rows:
      return o.scatter_add_rows(t[0], t[1], t[2]);
    case Op::conv2d:
      return o.conv2d(t[0], t[1], t[2], t[3], a.conv, a.epilogue);
    case Op::conv2d_backward_input:
      return o.conv2d_backward_input(t[0], t[1], t[2], a.conv);
    case Op::conv2d_backward_weight:
      return o.conv2d_backward_weight(t[0], t[1], t[2], t[3], a.conv);
    case Op::max_pool2d:
      return t[3].defined() ? pool_and_drop(o, a, t) : o.max_pool2d(t[0], t[1], t[2], a.pool);
    case Op::max_pool2d_backward:
      return o.max_pool2d_backward(t[0], t[3].defined() ? before_relu(o, a, t) : t[1], t[2], a.pool);
    case Op::average_pool2d:
      return o.average_pool2d(t[0], t[1], a.pool);
    case Op::average_pool2d_backward:
      return o.average_pool2d_backward(t[0], t[1], a.pool);
    case Op::softmax:
      return o.softmax(t[0], t[1]);
    case Op::softmax_backward:
      return o.softmax_backward(t[0], t[1], t[2]);
    case Op::log_softmax:
      return o.log_softmax(t[0], t[1]);
    case Op::log_softmax_backward:
      return o.log_softmax_backward(t[0], t[1], t[2]);
    case Op::softmax_cross_entropy:
      return o.softmax_cross_entropy(t[0], t[1], t[2], t[3], a.value);
    case Op::softmax_cross_entropy_backward:
      return o.softmax_cross_entropy_backward(t[0], t[1], t[2], t[3], a.value);
    case Op::dropout:
      return o.dropout(t[0], t[1], t[2], a.dropout);
    case Op::batch_statistics:
      return o.batch_statistics(t[0], t[1], t[2]);
    case Op::batch_norm:
      return o.batch_norm(t[0], t[1], t[2], t[3], t[4], t[5], a.batch_norm);
    case Op::batch_norm_backward:
      return o.batch_norm_backward(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], a.batch_norm);
    case Op::sgd_step:
      return o.sgd_step(t[0], t[2], t[1], n.step, n.sgd);
    case Op::rmsprop_step:
      return o.rmsprop_step(t[0], t[4], t[1], t[2], t[3], n.step, n.rmsprop);
    case Op::adam_step:
      return o.adam_step(t[0], t[4], t[1], t[2], t[3], n.step, n.adam);
    case Op::adadelta_step:
      return o.adadelta_step(t[0], t[3], t[1], t[2], n.step, n.adadelta);
    case Op::adagrad_step:
      return o.adagrad_step(t[0], t[2], t[1], n.step, n.adagrad);
  }
}

}  // namespace

void run_on_oracle(const cuda::Call& call, CpuBackend& oracle,
                   const std::function<void*(const void*)>& behind) {
  Operands tensors;
  for (int i = 0; i < call.operands; ++i)
    tensors[static_cast<std::size_t>(i)] = tensor_of(call[i], oracle, behind);
  const cuda::StepNumbers& numbers =
      call.numbers ? *static_cast<const cuda::StepNumbers*>(behind(call.numbers)) : call.attributes.step;
  const bool only_stores = call.op == Op::fill || call.op == Op::copy;
  Operands computed = tensors;
  for (Tensor& t : computed)
    if (!only_stores && is_bfloat16(t)) t = t.to(DType::f32);
  run(call.op, oracle, call.attributes, numbers, computed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(call.outputs); ++i)
    if (!only_stores && is_bfloat16(tensors[i])) oracle.copy(tensors[i], computed[i]);
  if (call.rounded.defined) oracle.copy(tensor_of(call.rounded, oracle, behind), tensors[0]);
}

}  // namespace ronde::test
