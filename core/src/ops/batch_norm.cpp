#include "ops/batch_norm.h"

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"
#include "ops/synchronized_statistics.h"
#include "ops/unary.h"

namespace ronde::inline v0 {
namespace {

struct BatchNormNode final : Node {
  Tensor x, gamma, beta;
  BatchStatistics statistics;
  BatchNormParams params;
  UnaryStage activation;
  SumOverRanks sum_over_ranks;
  bool has_addend = false;
  Tensor y;  // kept for a relu behind the addend

  const char* name() const override { return "batch_norm"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    const bool through_ranks = sum_over_ranks && grads.wanted(0);
    const auto sums = [&](int input) {
      if (grads.wanted(input)) return grads.out(input);
      return through_ranks ? Tensor::empty_like(statistics.mean) : Tensor();
    };
    const NormGradients to{memory_of_grad_x(grads), sums(1), sums(2)};
    const auto& [mean, variance, count] = statistics;
    if (y.defined())
      x.backend().batch_norm_add_relu_backward(
          to, grads.wanted(kAddend) ? grads.out_in_place(kAddend) : memory_over(grad, y, grads),
          grad.contiguous(), y, x, {mean, variance, gamma, beta, params});
    else
      x.backend().batch_norm_activation_backward(to.x, to.gamma, to.beta, grad.contiguous(), x, mean,
                                                 variance, gamma, beta, params, activation);
    if (has_addend && !y.defined()) grads.set(kAddend, grad);
    if (through_ranks)
      add_gradient_of_other_ranks(to.x, {.of_grad = to.beta, .of_grad_times_x = to.gamma}, x, statistics,
                                  gamma, params, sum_over_ranks);
  }

 private:
  static constexpr int kAddend = 3;  // of the inputs

  // Not over the gradient that the addend gets.
  Tensor memory_of_grad_x(InputGrads& grads) const {
    if (!grads.wanted(0)) return Tensor::empty_like(x);
    return has_addend ? grads.out(0) : grads.out_in_place(0);
  }
};

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta with constant mean and variance.
struct BatchNormInferenceNode final : Node {
  Tensor x;  // kept for gamma's gradient
  Tensor gamma;
  Tensor y;  // kept for a fused relu
  BatchStatistics statistics;
  BatchNormParams params;

  const char* name() const override { return "batch_norm_inference"; }
  void backward(const Tensor& grad_y, InputGrads& grads) override {
    const Tensor grad = y.defined() ? grad_before_relu(grad_y, y, grads) : grad_y;
    if (grads.wanted(0)) {
      const Tensor scale = slope().broadcast_to(grad.shape());
      grad.backend().binary(BinaryOp::multiply, grads.out(0), grad, scale);
    }
    if (grads.wanted(1)) {
      const Tensor normalised = Tensor::empty(x.shape(), statistics.mean.options());
      x.backend().batch_norm(normalised, x, statistics.mean, statistics.variance, {}, {}, params);
      x.backend().binary(BinaryOp::multiply, normalised, normalised, grad);
      bias_grad(grads.out(1), normalised);
    }
    if (grads.wanted(2)) bias_grad(grads.out(2), grad.contiguous());
  }

 private:
  // d y / d x, (c)
  Tensor slope() const {
    Backend& backend = statistics.variance.backend();
    const Tensor s = Tensor::empty_like(statistics.variance);
    backend.unary(UnaryOp::affine, s, statistics.variance, {.beta = params.epsilon});
    backend.unary(UnaryOp::power, s, s, {.alpha = -0.5});
    if (gamma.defined()) backend.binary(BinaryOp::multiply, s, s, gamma);
    return s;
  }
};

Tensor normalise(const Tensor& x, const Tensor& gamma, const Tensor& beta, const BatchStatistics& statistics,
                 BatchNormParams params, UnaryStage activation, const Tensor& addend = {}) {
  const Tensor y = Tensor::empty_like(x);
  const Tensor mean = statistics.mean.contiguous(), variance = statistics.variance.contiguous();
  if (addend.defined())
    x.backend().batch_norm_add(y, x, {mean, variance, gamma, beta, params, activation}, addend);
  else
    x.backend().batch_norm_activation(y, x, mean, variance, gamma, beta, params, activation);
  return y;
}

void check_addend(const Tensor& x, const Variable& addend, UnaryStage activation) {
  require_alike("batch_norm", x, addend.value());
  require(addend.shape() == x.shape(), "[batch_norm] addend must have the input's shape ", x.shape(),
          ", got shape ", addend.shape());
  require(activation.changes_nothing() || activation.op == UnaryOp::relu,
          "[batch_norm] behind an addend there can be a relu or no activation");
}

}  // namespace

void check_batch_norm(const Tensor& x, const Variable& gamma, const Variable& beta) {
  require_floating("batch_norm", x);
  require(x.rank() > 1, "[batch_norm] input must be (n, ..., c), got shape ", x.shape());
  if (gamma.defined()) require_per_channel("batch_norm", "gamma", x, gamma.value());
  if (beta.defined()) require_per_channel("batch_norm", "beta", x, beta.value());
}

void check_batch_norm(const Tensor& x, const Variable& gamma, const Variable& beta,
                      const BatchStatistics& statistics) {
  check_batch_norm(x, gamma, beta);
  require_per_channel("batch_norm", "mean", x, statistics.mean);
  require_per_channel("batch_norm", "variance", x, statistics.variance);
}

Variable batch_norm(const Variable& x, const Variable& gamma, const Variable& beta,
                    BatchStatistics& statistics, BatchNormParams params, const SumOverRanks& sum_over_ranks,
                    UnaryStage activation, const Variable& addend) {
  check_batch_norm(x.value(), gamma, beta);
  if (addend.defined()) check_addend(x.value(), addend, activation);
  const Tensor input = x.value().contiguous(), scale = dense_value(gamma), shift = dense_value(beta);
  statistics.count = input.count() == 0 ? 0 : input.count() / x.size(-1);
  const DType precise = input.dtype() == DType::bf16 ? DType::f32 : input.dtype();
  statistics.mean = Tensor::empty({x.size(-1)}, {.dtype = precise, .backend = &input.backend()});
  statistics.variance = Tensor::empty_like(statistics.mean);
  input.backend().batch_statistics(statistics.mean, statistics.variance, input);
  if (sum_over_ranks) merge_statistics(statistics, sum_over_ranks);
  const Tensor y = normalise(input, scale, shift, statistics, params, activation,
                             addend.defined() ? addend.value().contiguous() : Tensor());
  if (!Node::needed({x, gamma, beta, addend})) return y;
  auto node = std::make_shared<BatchNormNode>();
  node->has_addend = addend.defined();
  if (addend.defined() && !activation.changes_nothing()) node->y = y;
  node->x = input;
  node->gamma = scale;
  node->beta = shift;
  node->statistics = statistics;
  node->params = params;
  node->activation = activation;
  node->sum_over_ranks = sum_over_ranks;
  return Node::record(std::move(node), {x, gamma, beta, addend}, y);
}

Variable batch_norm_inference(const Variable& x, const Variable& gamma, const Variable& beta,
                              const BatchStatistics& statistics, BatchNormParams params,
                              UnaryStage activation) {
  check_batch_norm(x.value(), gamma, beta, statistics);
  const bool is_needed = Node::needed({x, gamma, beta});
  const bool is_plain_relu = activation.op == UnaryOp::relu;
  if (is_needed && !activation.changes_nothing() && !is_plain_relu)
    return apply_unary(activation.op, "batch_norm_inference",
                       batch_norm_inference(x, gamma, beta, statistics, params), activation.params);
  const Tensor input = x.value().contiguous(), scale = dense_value(gamma);
  const Tensor y = normalise(input, scale, dense_value(beta), statistics, params, activation);
  if (!is_needed) return y;
  auto node = std::make_shared<BatchNormInferenceNode>();
  if (is_plain_relu) node->y = y;
  if (gamma.requires_grad()) node->x = input;
  node->gamma = scale;
  node->statistics = {statistics.mean.clone(), statistics.variance.clone()};  // moving ones may move on
  node->params = params;
  return Node::record(std::move(node), {x, gamma, beta}, y);
}

}  // namespace ronde::inline v0
