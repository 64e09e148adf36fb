#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"

namespace ronde::inline v0 {
namespace {

// Matrices (rows, k): a row is what is normalised.
struct LayerNormNode final : Node {
  Tensor x, mean, variance;
  Tensor gamma;  // (k), or undefined
  double epsilon = 0;

  const char* name() const override { return "layer_norm"; }
  void backward(const Tensor& grad, InputGrads& grads) override {
    const std::int64_t k = x.size(1);
    const Tensor grad_x = grads.wanted(0) ? grads.out(0).reshape(x.shape()) : Tensor::empty_like(x);
    const auto of_weight = [&](int i) { return grads.wanted(i) ? grads.out(i).reshape({k}) : Tensor(); };
    const Tensor grad_gamma = of_weight(1), grad_beta = of_weight(2);
    x.backend().layer_norm_backward(grad_x, grad_gamma, grad_beta, grad.contiguous().reshape(x.shape()), x,
                                    mean, variance, gamma, epsilon);
  }
};

// Dense, as a row.
Tensor weight_row(const char* what, const Variable& weight, const Tensor& x, const Shape& features) {
  if (!weight.defined()) return {};
  require_weight("layer_norm", x, weight.value());
  require(weight.shape() == features, "[layer_norm] ", what, " must be ", features, " for an input of shape ",
          x.shape(), ", got shape ", weight.shape());
  return weight.value().contiguous().reshape({features.count()});
}

}  // namespace

Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta, LayerNormParams params) {
  require_floating("layer_norm", x.value());
  require(params.axes > 0 && params.axes < x.rank(), "[layer_norm] axes must be 1 to ", x.rank() - 1,
          " for an input of shape ", x.shape(), ", got ", params.axes);
  const Shape features = x.shape().tail(x.rank() - params.axes);
  const std::int64_t k = features.count();
  std::int64_t rows = 1;
  for (int axis = 0; axis < x.rank() - params.axes; ++axis) rows *= x.size(axis);
  const Tensor input = x.value().contiguous().reshape({rows, k});
  const Tensor scale = weight_row("gamma", gamma, x.value(), features);
  const Tensor shift = weight_row("beta", beta, x.value(), features);
  const DType precise = input.dtype() == DType::bf16 ? DType::f32 : input.dtype();
  const Tensor mean = Tensor::empty({rows}, {.dtype = precise, .backend = &input.backend()});
  const Tensor variance = Tensor::empty_like(mean), y = Tensor::empty_like(input);
  input.backend().layer_norm(y, mean, variance, input, scale, shift, params.epsilon);
  const Tensor out = y.reshape(x.shape());
  if (!Node::needed({x, gamma, beta})) return out;
  auto node = std::make_shared<LayerNormNode>();
  node->x = input;
  node->mean = mean;
  node->variance = variance;
  node->gamma = scale;
  node->epsilon = params.epsilon;
  return Node::record(std::move(node), {x, gamma, beta}, out);
}

}  // namespace ronde::inline v0
