#include <ronde/nn/loss_metric.h>

#include <cmath>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/regression_loss.h>

#include "losses/targets.h"
#include "metrics/device_sum.h"
#include "metrics/sample_weights.h"

namespace ronde::inline v0 {

namespace {

/// Keras' metric of a loss; nullptr when it has none, or one of another sign.
const char* metric_class(const std::string& loss) {
  static constexpr std::pair<const char*, const char*> kClasses[] = {
      {"binary_crossentropy", "BinaryCrossentropy"},
      {"categorical_crossentropy", "CategoricalCrossentropy"},
      {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
      {"kl_divergence", "KLDivergence"},
      {"mean_squared_error", "MeanSquaredError"},
      {"mean_absolute_error", "MeanAbsoluteError"},
      {"mean_absolute_percentage_error", "MeanAbsolutePercentageError"},
      {"mean_squared_logarithmic_error", "MeanSquaredLogarithmicError"},
      {"log_cosh", "LogCoshError"},
      {"poisson", "Poisson"},
  };
  for (const auto& [name, class_name] : kClasses)
    if (loss == name) return class_name;
  return nullptr;
}

}  // namespace

LossMetric::LossMetric(std::shared_ptr<const Loss> loss, std::string name)
    : loss_(std::move(loss)), name_(std::move(name)) {
  require<UsageError>(loss_ != nullptr, "[loss_metric] expects a loss, got nullptr");
  if (name_.empty()) name_ = loss_->name();
}

void LossMetric::update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) {
  if (output.size(0) == 0) return check_as_many(name_, target, output.shape());
  const NoGrad no_grad;
  const Variable losses = losses_of_samples(*loss_, output, target);
  if (!weights.defined()) {
    add_to_sum(sum_, sum(losses).value());
    count_ += output.size(0);
    return;
  }
  check_weights_shape(name_, weights, output.shape());
  add_to_sum(sum_, sum(losses * weights.to(losses.value().dtype())).value());
  add_to_sum(weights_, sum(weights).value());
}

MetricSums LossMetric::sums() const {
  return {value_of_sum(sum_), static_cast<double>(count_) + value_of_sum(weights_)};
}

void LossMetric::reset() {
  clear_sum(sum_);
  clear_sum(weights_);
  count_ = 0;
}

ConfigValue LossMetric::config() const {
  const char* class_name = metric_class(loss_->name());
  if (class_name == nullptr) return {};
  ConfigDict options = loss_->config();
  options.insert(options.begin(), {"name", name_});
  return ConfigDict{{"class_name", class_name}, {"config", options}};
}

RootMeanSquaredError::RootMeanSquaredError(std::string name)
    : LossMetric(std::make_unique<MeanSquaredError>(), std::move(name)) {}

double RootMeanSquaredError::value(const MetricSums& sums) const {
  return std::sqrt(Metric::value(sums));
}

ConfigValue RootMeanSquaredError::config() const {
  return ConfigDict{{"class_name", "RootMeanSquaredError"}, {"config", ConfigDict{{"name", name()}}}};
}

}  // namespace ronde::inline v0
