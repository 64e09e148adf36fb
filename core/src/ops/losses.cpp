#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

struct SoftmaxCrossEntropyNode final : Node {
  Tensor probabilities, labels;
  double smoothing = 0.0;

  const char* name() const override { return "softmax_cross_entropy"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    grad.backend().softmax_cross_entropy_backward(grads.out(0), grad, probabilities, labels, smoothing);
  }
};

void check_labels(const Tensor& logits, const Tensor& labels) {
  require_rank("softmax_cross_entropy", "logits", logits, 2, "(n, k)");
  require_floating("softmax_cross_entropy", logits);
  require(labels.defined() && (labels.dtype() == DType::i32 || labels.dtype() == DType::i64) &&
              labels.shape() == Shape{logits.size(0)},
          "[softmax_cross_entropy] labels must be i32 or i64 (", logits.size(0), ",), got ", labels);
  require_same_backend("softmax_cross_entropy", logits, labels, "logits and labels");
}

// 0 where a target is 0, else -inf.
Tensor least_log(const Tensor& targets) {
  const Tensor least = Tensor::empty(targets.shape(), targets.options());
  Backend& backend = targets.backend();
  backend.binary(BinaryOp::equal, least, targets,
                 Tensor::full({}, 0.0, targets.options()).broadcast_to(targets.shape()));
  backend.unary(UnaryOp::log, least, least, {});
  return least;
}

}  // namespace

Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels, double label_smoothing) {
  check_labels(logits.value(), labels);
  require<UsageError>(label_smoothing >= 0.0 && label_smoothing <= 1.0,
                      "[softmax_cross_entropy] label smoothing must be in [0, 1], got ", label_smoothing);
  const Tensor x = logits.value().contiguous(), classes = indices_in_i32(labels);
  const TensorOptions precise{.dtype = x.dtype() == DType::bf16 ? DType::f32 : x.dtype(),
                              .backend = &x.backend()};
  const Tensor losses = Tensor::empty({x.size(0)}, precise);
  const Tensor probabilities = Tensor::empty(x.shape(), precise);
  x.backend().softmax_cross_entropy(losses, probabilities, x, classes, label_smoothing);
  if (!Node::needed({logits})) return losses;
  auto node = std::make_shared<SoftmaxCrossEntropyNode>();
  node->probabilities = probabilities;
  node->labels = classes;
  node->smoothing = label_smoothing;
  return Node::record(std::move(node), {logits}, losses);
}

Variable softmax_cross_entropy_soft(const Variable& logits, const Variable& targets) {
  require_rank("softmax_cross_entropy", "logits", logits.value(), 2, "(n, k)");
  require(targets.shape() == logits.shape(), "[softmax_cross_entropy] targets must be ", logits.shape(),
          ", got shape ", targets.shape());
  Variable logs = log_softmax(logits);
  // A class that has no part of the target has none in the loss, though its logit is -inf: 0 log(0) is 0.
  if (!targets.requires_grad()) logs = maximum(logs, least_log(targets.value()));
  return -sum(targets * logs, {.axes = {1}});
}

Variable squared_error(const Variable& prediction, const Variable& target) {
  require(prediction.shape() == target.shape() && prediction.rank() > 0,
          "[squared_error] prediction and target must be (n, ...) alike, got ", prediction.shape(), " and ",
          target.shape());
  const Variable squares = square(prediction - target);
  if (squares.rank() == 1) return squares;
  ReduceOptions all_but_first;
  for (int i = 1; i < squares.rank(); ++i) all_but_first.axes.push_back(i);
  return mean(squares, all_but_first);
}

}  // namespace ronde::inline v0
