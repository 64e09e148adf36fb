#include <ronde/models/monitor.h>

#include <limits>

namespace ronde::inline v0 {

namespace {

bool grows_when_better(const std::string& key, MonitorMode mode) {
  if (mode != MonitorMode::automatic) return mode == MonitorMode::max;
  return key.find("acc") != std::string::npos || key.ends_with("auc") || key.starts_with("fmeasure");
}

}  // namespace

Monitor::Monitor(std::string key, MonitorMode mode, double min_delta)
    : key_(std::move(key)), larger_is_better_(grows_when_better(key_, mode)), min_delta_(min_delta) {}

void Monitor::require_available(const TrainingPlan& plan, const char* who) const {
  require<UsageError>(plan.has_validation || !key_.starts_with("val_"), "[", who, "] monitors ", key_,
                      ", but fit has no validation data");
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
  return better(value, best_or_infinity());
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
