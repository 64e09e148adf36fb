#include <ronde/models/monitor.h>

#include <cmath>
#include <limits>

namespace ronde::inline v0 {

namespace {

/// Of the loss and of compiled metrics.
MetricDirection direction_of(const std::string& key, const TrainingPlan& plan) {
  const std::string name = key.starts_with("val_") ? key.substr(4) : key;
  if (name == "loss") return MetricDirection::smaller;
  for (const auto& [metric, direction] : plan.metrics)
    if (metric == name) return direction;
  return MetricDirection::unknown;
}

}  // namespace

Monitor::Monitor(std::string key, MonitorMode mode, double min_delta)
    : key_(std::move(key)), mode_(mode), larger_is_better_(mode == MonitorMode::max), min_delta_(min_delta) {}

void Monitor::begin(const TrainingPlan& plan, const char* who) {
  require<UsageError>(plan.has_validation || !key_.starts_with("val_"), "[", who, "] monitors ", key_,
                      ", but fit has no validation data");
  if (mode_ != MonitorMode::automatic) return;
  const MetricDirection direction = direction_of(key_, plan);
  require<UsageError>(direction != MetricDirection::unknown, "[", who, "] monitors ", key_,
                      ", of which nothing says whether larger or smaller values are better: choose mode, "
                      "MonitorMode::max or MonitorMode::min");
  larger_is_better_ = direction == MetricDirection::larger;
}

double Monitor::value(const Logs& logs, const char* who) const {
  if (const double* found = logs.find(key_)) return *found;
  std::string available;
  for (const auto& [name, value] : logs.entries()) available += (available.empty() ? "" : ", ") + name;
  throw UsageError(cat("[", who, "] monitors ", key_, ", but there is only ", available));
}

bool Monitor::better(double value, double other) const {
  return larger_is_better_ ? value - min_delta_ > other : value + min_delta_ < other;
}

bool Monitor::improves(double value) const {
  return best_ ? better(value, *best_) : !std::isnan(value);
}

double Monitor::best_or_infinity() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return best_.value_or(larger_is_better_ ? -kInfinity : kInfinity);
}

ConfigValue Monitor::saved_best() const {
  return best_ ? ConfigValue(*best_) : ConfigValue();
}

void Monitor::restore_best(const ConfigValue& saved) {
  if (saved.is_null()) {
    best_.reset();
  } else {
    best_ = saved.as_double();
  }
}

}  // namespace ronde::inline v0
