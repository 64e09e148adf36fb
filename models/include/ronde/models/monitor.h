/// Monitor: the best value of a key of the logs so far, and what counts as better.
#pragma once

#include <optional>
#include <string>

#include <ronde/models/callback.h>

namespace ronde::inline v0 {

/// `automatic`: as the metric of this key says (Metric::direction), and the smaller the better for the loss.
/// A key of neither, or of a metric that does not say, needs `min` or `max`.
enum class MonitorMode { automatic, min, max };

class RONDE_API Monitor {
 public:
  Monitor(std::string key, MonitorMode mode, double min_delta = 0.0);

  const std::string& key() const { return key_; }
  /// When training begins, before anything is compared: what is better. UsageError that names `who` when
  /// that is not known, or when the key is one of validation and there is none: before any work, not after an
  /// epoch.
  void begin(const TrainingPlan& plan, const char* who);
  /// False of a key of validation in an epoch that makes none (`FitOptions::validation_freq`).
  bool is_due(const TrainingPlan& plan, std::int64_t epoch) const {
    return !key_.starts_with("val_") || plan.validates(epoch);
  }
  /// The key's value; an error that lists what there is when it is missing.
  double value(const Logs& logs, const char* who) const;

  /// Whether `value` beats `other` by more than min_delta.
  bool better(double value, double other) const;
  /// Whether `value` beats the best so far; anything but NaN beats nothing.
  bool improves(double value) const;
  void set_best(std::optional<double> value) { best_ = value; }
  std::optional<double> best() const { return best_; }
  /// The best so far, or the infinity that every value beats.
  double best_or_infinity() const;

  /// For the state of a callback: null when there is none yet.
  ConfigValue saved_best() const;
  void restore_best(const ConfigValue& saved);

 private:
  std::string key_;
  MonitorMode mode_;
  bool larger_is_better_;
  double min_delta_;
  std::optional<double> best_;
};

}  // namespace ronde::inline v0
