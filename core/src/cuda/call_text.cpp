#include "cuda/call_text.h"

#include <iterator>

#include <ronde/core/dtype.h>
#include <ronde/core/text.h>

namespace ronde::inline v0::cuda {

namespace {

constexpr const char* kOpNames[] = {"fill",
                                    "copy",
                                    "unary",
                                    "unary_backward",
                                    "relu_backward",
                                    "binary",
                                    "accumulate",
                                    "reduce",
                                    "argmax",
                                    "sum_of_squares",
                                    "square_sums",
                                    "count_correct",
                                    "matmul",
                                    "dense",
                                    "dense_backward_weight",
                                    "gather_rows",
                                    "gather_scaled",
                                    "change_pictures",
                                    "scatter_add_rows",
                                    "conv2d",
                                    "conv2d_backward_input",
                                    "conv2d_backward_weight",
                                    "max_pool2d",
                                    "max_pool2d_backward",
                                    "average_pool2d",
                                    "average_pool2d_backward",
                                    "softmax",
                                    "softmax_backward",
                                    "log_softmax",
                                    "log_softmax_backward",
                                    "softmax_cross_entropy",
                                    "softmax_cross_entropy_backward",
                                    "dropout",
                                    "batch_statistics",
                                    "batch_norm",
                                    "batch_norm_backward",
                                    "layer_norm",
                                    "layer_norm_backward",
                                    "sgd_step",
                                    "rmsprop_step",
                                    "adam_step",
                                    "adadelta_step",
                                    "adagrad_step"};
static_assert(std::size(kOpNames) == static_cast<std::size_t>(Op::adagrad_step) + 1);

bool is_told(const Call& call, int i) {
  for (int before = call.outputs; before < i; ++before)
    if (call[before].data == call[i].data) return true;
  return false;
}

}  // namespace

std::string to_string(Op op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

std::string to_string(const Operand& operand) {
  std::string text = "(";
  for (std::size_t i = 0; i < static_cast<std::size_t>(operand.rank); ++i)
    text += cat(i > 0 ? ", " : "", operand.shape[i]);
  return operand.dtype == DType::f32 ? text + ")" : cat(text, ") ", operand.dtype);
}

std::string to_string(const Call& call) {
  std::string text = to_string(call.op);
  for (int i = 0; i < call.operands; ++i) {
    if (i == call.outputs) text += call.rounded.defined ? cat(' ', to_string(call.rounded), " <-") : " <-";
    if (call[i].defined && !is_told(call, i)) text += cat(' ', to_string(call[i]));
  }
  return text;
}

}  // namespace ronde::inline v0::cuda
