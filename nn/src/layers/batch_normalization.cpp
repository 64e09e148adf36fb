#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/batch_normalization.h>

#include "layers/image_checks.h"
#include "layers/norm_options.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

/// moving = moving * momentum + batch * weight
void blend(const Tensor& moving, const Tensor& batch, double momentum, double weight) {
  Backend& backend = moving.backend();
  backend.unary(UnaryOp::affine, moving, moving, {.alpha = momentum, .beta = 0.0});
  backend.accumulate(moving, batch, weight);
}

}  // namespace

BatchNormalization::BatchNormalization(BatchNormalizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.momentum >= 0.0 && options_.momentum <= 1.0, "[", label(),
                      "] momentum must be in [0, 1], got ", options_.momentum);
  require<UsageError>(options_.epsilon >= 0.0, "[", label(), "] epsilon must not be negative, got ",
                      options_.epsilon);
}

void BatchNormalization::build_weights(const Shape& input, const BuildOptions& options) {
  require_last_axis(*this, options_.axis, input);
  const Shape channels{input.back()};
  const auto add = [&](const char* name, const Initializer& initializer, const Regularizer& regularizer) {
    return add_weight({.name = name, .regularizer = regularizer}, channels, initializer, options);
  };
  const auto add_statistics = [&](const char* name, const Initializer& initializer) {
    return add_weight({.name = name, .trainable = false}, channels, initializer, options);
  };
  if (options_.scale) gamma_ = add("gamma", options_.gamma_initializer, options_.gamma_regularizer);
  if (options_.center) beta_ = add("beta", options_.beta_initializer, options_.beta_regularizer);
  moving_mean_ = add_statistics("moving_mean", options_.moving_mean_initializer);
  moving_variance_ = add_statistics("moving_variance", options_.moving_variance_initializer);
}

Variable BatchNormalization::forward(const Variable& x, const Context& context) {
  return forward_with({}, x, context);
}

Variable BatchNormalization::forward_with(UnaryStage activation, const Variable& x, const Context& context,
                                          const Variable& addend) {
  const std::int64_t channels = moving_mean_.size(0);
  require(x.rank() >= 2 && x.shape().back() == channels, "[", label(), "] expects ",
          counted(channels, "channel"), ", got an input of shape ", x.shape());
  const BatchNormParams params{.epsilon = options_.epsilon};
  const SumOverRanks sum_over_ranks = is_synchronized() ? context.sum_over_ranks : SumOverRanks();
  if (is_inference(context) || (x.shape().count() == 0 && !sum_over_ranks)) {
    const BatchNormCall call = inference_call(addend.defined() ? UnaryStage() : activation);
    const Variable y =
        batch_norm_inference(x, call.gamma, call.beta, call.statistics, call.params, call.activation);
    if (!addend.defined()) return y;
    return activation.changes_nothing() ? y + addend : add_relu(y, addend);
  }
  require_no_mask(x);
  BatchStatistics batch;
  Variable y = batch_norm(x, gamma_, beta_, batch, params, sum_over_ranks, activation, addend);
  if (batch.count > 0) update_moving(batch);
  return y;
}

BatchNormCall BatchNormalization::inference_call(UnaryStage activation) const {
  return {.gamma = gamma_,
          .beta = beta_,
          .statistics = {moving_mean_.value(), moving_variance_.value()},
          .params = {.epsilon = options_.epsilon},
          .activation = activation};
}

void BatchNormalization::update_moving(const BatchStatistics& batch) {
  const double share = 1.0 - options_.momentum;
  const auto n = static_cast<double>(batch.count);
  const bool unbiased = options_.moving_variance == MovingVariance::unbiased && batch.count > 1;
  blend(moving_mean_.value(), batch.mean, options_.momentum, share);
  blend(moving_variance_.value(), batch.variance, options_.momentum,
        unbiased ? share * n / (n - 1.0) : share);
}

ConfigDict BatchNormalization::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", -1);
  config.emplace_back("momentum", options_.momentum);
  append_norm(options_, config);
  // Known to Keras 2.12 and later.
  if (options_.synchronized) config.emplace_back("synchronized", true);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<BatchNormalization>(const LayerConfig& config) {
  config.expect_null("renorm_clipping");
  config.expect_false("renorm");
  config.ignore({"fused", "renorm_momentum"});
  return std::make_unique<BatchNormalization>(
      with_norm(config, BatchNormalizationOptions{.axis = config.axis(),
                                                  .momentum = config.number("momentum", 0.99),
                                                  .synchronized = config.boolean("synchronized", false)}));
}

}  // namespace ronde::inline v0
