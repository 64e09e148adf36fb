#include <ronde/nn/time_distributed.h>

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "nets/wrapped_layer.h"

namespace ronde::inline v0 {

namespace {

/// 0, 1, ... count - 1; each operation doubles how many there are.
Tensor whole_numbers(std::int64_t count, Backend& backend) {
  const Tensor numbers = Tensor::zeros({count}, {.dtype = DType::f64, .backend = &backend});
  for (std::int64_t done = 1; done < count; done *= 2) {
    const std::int64_t more = std::min(done, count - done);
    backend.unary(UnaryOp::affine, numbers.slice(0, done, done + more), numbers.slice(0, 0, more),
                  {.alpha = 1.0, .beta = static_cast<double>(done)});
  }
  return numbers;
}

/// Keys of steps (n * steps, 2): sample * steps + step, in doubles, which are exact below 2^53, and the
/// epoch.
Tensor step_keys(const Tensor& keys, std::int64_t steps) {
  Backend& backend = keys.backend();
  const std::int64_t samples = keys.size(0);
  const Shape shape{samples, steps, 1};
  const Tensor firsts = Tensor::empty({samples, 1}, {.dtype = DType::f64, .backend = &backend});
  backend.unary(UnaryOp::affine, firsts, keys.slice(1, 0, 1).to(DType::f64),
                {.alpha = static_cast<double>(steps)});
  const Tensor sums = Tensor::empty(shape, firsts.options());
  backend.binary(BinaryOp::add, sums, firsts.reshape({samples, 1, 1}).broadcast_to(shape),
                 whole_numbers(steps, backend).reshape({1, steps, 1}).broadcast_to(shape));
  const Tensor result = Tensor::empty({samples, steps, 2}, keys.options());
  backend.copy(result.slice(2, 0, 1), sums);
  backend.copy(result.slice(2, 1, 2), keys.slice(1, 1, 2).reshape({samples, 1, 1}).broadcast_to(shape));
  return result.reshape({samples * steps, 2});
}

/// (n, steps) of a mask (n, steps, ...): a step counts of which something does.
Tensor any_of_steps(const Tensor& mask) {
  const NoGrad no_grad;
  const Shape rows{mask.size(0), mask.size(1), mask.shape().tail(2).count()};
  return max(Variable(mask.reshape(rows)), {.axes = {2}}).value();
}

}  // namespace

TimeDistributed::TimeDistributed(std::unique_ptr<Module> layer)
    : layer_(&add_module("layer", std::move(layer))) {}

Variable TimeDistributed::forward(const Variable& x, const Context& context) {
  require(x.rank() > 2, "[", label(), "] expects inputs (n, steps, ...) of at least 3 axes, got ", x.shape());
  const std::int64_t samples = x.size(0), steps = x.size(1);
  Variable of_steps = steps_as_batch(x);
  if (const Tensor& mask = x.mask(); mask.defined()) {
    require(mask.rank() > 1 && mask.size(0) == samples && mask.size(1) == steps, "[", label(),
            "] expects a mask (", samples, ", ", steps, ", ...) beside inputs of shape ", x.shape(), ", got ",
            mask.shape());
    of_steps.set_mask(mask.reshape(mask.shape().steps_as_batch()));
  }
  Context of_layer = context;
  if (context.training && context.sample_keys.defined())
    of_layer.sample_keys = step_keys(context.sample_keys, steps);
  const Variable y = (*layer_)(of_steps, of_layer);
  const Tensor &mask = x.mask(), &mask_of_steps = of_steps.mask();
  require(
      !y.mask().defined() || (mask.defined() && y.mask().shares_storage_with(mask_of_steps)), "[", label(),
      "] its layer gives a mask of its own (Masking, or Embedding with mask_zero), which Keras 2 and 3 hand "
      "on in different ways: not supported");
  Variable result = reshape(y, y.shape().tail(1).batch_of(steps).batch_of(samples));
  if (mask.defined() && mask.rank() > 2 && !y.mask().defined()) result.set_mask(any_of_steps(mask));
  return result;
}

ConfigDict TimeDistributed::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("layer", wrapped_layer(*layer_));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<TimeDistributed>(const LayerConfig& config) {
  std::unique_ptr<Module> layer = read_wrapped_layer(config, "layer");
  if (layer == nullptr) config.refuse("layer", "missing");
  auto result = std::make_unique<TimeDistributed>(std::move(layer));
  if (!config.boolean("trainable", true)) result->set_trainable(false);
  return result;
}

}  // namespace ronde::inline v0
