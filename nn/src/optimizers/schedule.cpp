#include <algorithm>
#include <cmath>
#include <numbers>

#include <ronde/core/error.h>
#include <ronde/nn/schedule.h>

namespace ronde::inline v0 {

namespace {

double decay_steps_done(const DecayOptions& options, double position) {
  const double steps = position / options.decay_steps;
  return options.staircase ? std::floor(steps) : steps;
}

void check_decay_steps(double steps) {
  require<UsageError>(steps > 0, "[schedule] decay_steps must be positive, got ", steps);
}

ConfigDict config_of(const char* class_name, const DecayOptions& options) {
  return {{"class_name", class_name},
          {"initial_rate", options.initial_rate},
          {"decay_steps", options.decay_steps},
          {"decay_rate", options.decay_rate},
          {"staircase", options.staircase}};
}

/// 1 at 0, 0 at 1.
double half_cosine_down(double done) {
  return 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

ConfigValue list_of(const std::vector<double>& numbers) {
  return ConfigList(numbers.begin(), numbers.end());
}

}  // namespace

double ConstantRate::operator()(double) const {
  return rate_;
}
ConfigDict ConstantRate::config() const {
  return {{"class_name", "ConstantRate"}, {"rate", rate_}};
}

InverseTimeDecay::InverseTimeDecay(DecayOptions options) : options_(options) {
  check_decay_steps(options.decay_steps);
}
double InverseTimeDecay::operator()(double position) const {
  return options_.initial_rate / (1.0 + options_.decay_rate * decay_steps_done(options_, position));
}
ConfigDict InverseTimeDecay::config() const {
  return config_of("InverseTimeDecay", options_);
}

ExponentialDecay::ExponentialDecay(DecayOptions options) : options_(options) {
  check_decay_steps(options.decay_steps);
}
double ExponentialDecay::operator()(double position) const {
  return options_.initial_rate * std::pow(options_.decay_rate, decay_steps_done(options_, position));
}
ConfigDict ExponentialDecay::config() const {
  return config_of("ExponentialDecay", options_);
}

PiecewiseConstant::PiecewiseConstant(std::vector<double> boundaries, std::vector<double> values)
    : boundaries_(std::move(boundaries)), values_(std::move(values)) {
  require<UsageError>(values_.size() == boundaries_.size() + 1, "[schedule] ", boundaries_.size(),
                      " boundaries need one more value than that, got ", values_.size());
  const auto lower = std::is_sorted_until(boundaries_.begin(), boundaries_.end());
  if (lower != boundaries_.end())
    throw UsageError(cat("[schedule] boundaries must not decrease, got ", *lower, " after ", *(lower - 1)));
}
double PiecewiseConstant::operator()(double position) const {
  const auto passed =
      std::lower_bound(boundaries_.begin(), boundaries_.end(), position) - boundaries_.begin();
  return values_[static_cast<std::size_t>(passed)];
}
ConfigDict PiecewiseConstant::config() const {
  return {{"class_name", "PiecewiseConstant"},
          {"boundaries", list_of(boundaries_)},
          {"values", list_of(values_)}};
}

CosineDecay::CosineDecay(CosineDecayOptions options) : options_(options) {
  check_decay_steps(options.decay_steps);
  require<UsageError>(options.warmup_steps >= 0, "[schedule] warmup_steps must not be negative, got ",
                      options.warmup_steps);
}
double CosineDecay::operator()(double position) const {
  const double warmup = options_.warmup_target ? options_.warmup_steps : 0.0;
  const double start = options_.warmup_target.value_or(options_.initial_rate);
  if (position < warmup) return options_.initial_rate + (start - options_.initial_rate) * (position / warmup);
  const double done = std::clamp((position - warmup) / options_.decay_steps, 0.0, 1.0);
  return start * ((1.0 - options_.alpha) * half_cosine_down(done) + options_.alpha);
}
ConfigDict CosineDecay::config() const {
  ConfigDict config{{"class_name", "CosineDecay"},
                    {"initial_rate", options_.initial_rate},
                    {"decay_steps", options_.decay_steps},
                    {"alpha", options_.alpha}};
  if (options_.warmup_target) {
    config.emplace_back("warmup_target", *options_.warmup_target);
    config.emplace_back("warmup_steps", options_.warmup_steps);
  }
  return config;
}

CosineDecayRestarts::CosineDecayRestarts(CosineDecayRestartsOptions options) : options_(options) {
  check_decay_steps(options.first_decay_steps);
  require<UsageError>(options.t_mul >= 1.0, "[schedule] t_mul must be at least 1, got ", options.t_mul);
}
double CosineDecayRestarts::operator()(double position) const {
  double done = std::max(0.0, position / options_.first_decay_steps), restarts = std::floor(done);
  if (options_.t_mul == 1.0) {
    done -= restarts;
  } else {
    // The periods before this one are a geometric series. A quotient of logarithms may be a whole number too
    // few, by its rounding, where a period begins: the next one has begun when this one is over.
    const auto begin = [&](double period) {
      return (1.0 - std::pow(options_.t_mul, period)) / (1.0 - options_.t_mul);
    };
    restarts = std::floor(std::log(1.0 - done * (1.0 - options_.t_mul)) / std::log(options_.t_mul));
    if (done >= begin(restarts + 1.0)) restarts += 1.0;
    done = (done - begin(restarts)) / std::pow(options_.t_mul, restarts);
  }
  const double height = std::pow(options_.m_mul, restarts);
  return options_.initial_rate * ((1.0 - options_.alpha) * height * half_cosine_down(done) + options_.alpha);
}
ConfigDict CosineDecayRestarts::config() const {
  return {{"class_name", "CosineDecayRestarts"},
          {"initial_rate", options_.initial_rate},
          {"first_decay_steps", options_.first_decay_steps},
          {"t_mul", options_.t_mul},
          {"m_mul", options_.m_mul},
          {"alpha", options_.alpha}};
}

PolynomialDecay::PolynomialDecay(PolynomialDecayOptions options) : options_(options) {
  check_decay_steps(options.decay_steps);
}
double PolynomialDecay::operator()(double position) const {
  const double rounds = options_.cycle ? std::max(1.0, std::ceil(position / options_.decay_steps)) : 1.0;
  const double left = 1.0 - std::clamp(position / (options_.decay_steps * rounds), 0.0, 1.0);
  return (options_.initial_rate - options_.end_rate) * std::pow(left, options_.power) + options_.end_rate;
}
ConfigDict PolynomialDecay::config() const {
  ConfigDict config{{"class_name", "PolynomialDecay"},
                    {"initial_rate", options_.initial_rate},
                    {"decay_steps", options_.decay_steps},
                    {"end_rate", options_.end_rate},
                    {"power", options_.power}};
  if (options_.cycle) config.emplace_back("cycle", true);
  return config;
}

OneCycle::OneCycle(OneCycleOptions options) : options_(options) {
  require<UsageError>(options.total_steps >= 2, "[schedule] one cycle takes at least 2 steps, got ",
                      options.total_steps);
  require<UsageError>(options.warmup_share >= 0.0 && options.warmup_share < 1.0,
                      "[schedule] warmup_share must be 0 or more and below 1, got ", options.warmup_share);
  require<UsageError>(options.start_divisor > 0.0 && options.final_divisor > 0.0,
                      "[schedule] the divisors of one cycle must be positive, got ", options.start_divisor,
                      " and ", options.final_divisor);
}
double OneCycle::operator()(double position) const {
  const auto last = static_cast<double>(options_.total_steps - 1);
  const double peak = std::max(0.0, options_.warmup_share * (last + 1.0) - 1.0);  // the step that has it
  const double start = options_.peak_rate / options_.start_divisor;
  const auto half_cosine = [](double from, double to, double done) {
    return to + 0.5 * (from - to) * (1.0 + std::cos(std::numbers::pi * done));
  };
  if (position < peak) return half_cosine(start, options_.peak_rate, position / peak);
  const double done = std::min(1.0, (position - peak) / (last - peak));
  return half_cosine(options_.peak_rate, start / options_.final_divisor, done);
}
ConfigDict OneCycle::config() const {
  return {{"class_name", "OneCycle"},
          {"peak_rate", options_.peak_rate},
          {"total_steps", options_.total_steps},
          {"warmup_share", options_.warmup_share},
          {"start_divisor", options_.start_divisor},
          {"final_divisor", options_.final_divisor}};
}

double warmup_learning_rate(const WarmupOptions& options, std::int64_t epoch, std::int64_t batch) {
  const auto steps = static_cast<double>(options.steps_per_epoch);
  // Counted at the end of the batch, so that the last batch of the warm-up has the full rate.
  const double epochs = static_cast<double>(epoch) + static_cast<double>(batch + 1) / steps;
  if (options.warmup_epochs <= 0.0 || epochs >= options.warmup_epochs) return options.rate;
  return options.rate / options.scale * (epochs * (options.scale - 1.0) / options.warmup_epochs + 1.0);
}

}  // namespace ronde::inline v0
