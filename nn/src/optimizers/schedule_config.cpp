#include "optimizers/schedule_config.h"

#include <algorithm>

#include "config/config_options.h"
#include "config/known_names.h"

namespace ronde::inline v0 {

namespace {

/// What a rate is called there and here. Other settings have one name.
struct RateName {
  const char* keras;
  const char* ours;
};

constexpr RateName kRates[] = {{"initial_learning_rate", "initial_rate"},
                               {"end_learning_rate", "end_rate"},
                               {"warmup_target", "warmup_target"},
                               {"values", "values"}};

constexpr std::pair<const char*, const char*> kClasses[] = {
    {"CosineDecay", "CosineDecay"},           {"CosineDecayRestarts", "CosineDecayRestarts"},
    {"ExponentialDecay", "ExponentialDecay"}, {"InverseTimeDecay", "InverseTimeDecay"},
    {"PolynomialDecay", "PolynomialDecay"},   {"PiecewiseConstantDecay", "PiecewiseConstant"}};

ConfigValue times(const ConfigValue& rates, double factor) {
  if (!rates.is_list()) return rates.as_double() * factor;
  ConfigList all;
  for (const ConfigValue& rate : rates.as_list()) all.emplace_back(rate.as_double() * factor);
  return all;
}

/// The config of one schedule, being read: its rates are shares of the largest.
class ScheduleConfig {
 public:
  explicit ScheduleConfig(const ConfigValue& config) : config_(config) {
    for (const RateName& name : kRates) {
      const ConfigValue* rates = find_option(config, name.keras);
      if (rates == nullptr) continue;
      for (const double rate : rates->is_list() ? list(name.keras) : std::vector{rates->as_double()})
        largest_ = std::max(largest_, rate);
    }
  }

  double largest() const { return largest_; }
  double number(const char* key) const { return config_.at(key).as_double(); }
  double number(const char* key, double otherwise) const { return number_option(config_, key, otherwise); }
  bool has(const char* key) const { return find_option(config_, key) != nullptr; }
  bool flag(const char* key) const {
    const ConfigValue* value = find_option(config_, key);
    return value != nullptr && value->as_bool();
  }
  std::vector<double> list(const char* key) const {
    std::vector<double> numbers;
    for (const ConfigValue& value : config_.at(key).as_list()) numbers.push_back(value.as_double());
    return numbers;
  }
  double share(double rate) const { return largest_ > 0.0 ? rate / largest_ : 0.0; }
  double initial() const { return share(number("initial_learning_rate")); }

 private:
  const ConfigValue& config_;
  double largest_ = 0.0;
};

template <class Decay>
std::shared_ptr<const LearningRateSchedule> read_decay(const ScheduleConfig& c) {
  return std::make_shared<Decay>(DecayOptions{.initial_rate = c.initial(),
                                              .decay_steps = c.number("decay_steps"),
                                              .decay_rate = c.number("decay_rate"),
                                              .staircase = c.flag("staircase")});
}

std::shared_ptr<const LearningRateSchedule> read_cosine(const ScheduleConfig& c) {
  CosineDecayOptions options{.initial_rate = c.initial(),
                             .decay_steps = c.number("decay_steps"),
                             .alpha = c.number("alpha", 0.0),
                             .warmup_steps = c.number("warmup_steps", 0.0)};
  if (c.has("warmup_target")) options.warmup_target = c.share(c.number("warmup_target"));
  return std::make_shared<CosineDecay>(options);
}

std::shared_ptr<const LearningRateSchedule> read_restarts(const ScheduleConfig& c) {
  return std::make_shared<CosineDecayRestarts>(
      CosineDecayRestartsOptions{.initial_rate = c.initial(),
                                 .first_decay_steps = c.number("first_decay_steps"),
                                 .t_mul = c.number("t_mul", 2.0),
                                 .m_mul = c.number("m_mul", 1.0),
                                 .alpha = c.number("alpha", 0.0)});
}

std::shared_ptr<const LearningRateSchedule> read_polynomial(const ScheduleConfig& c) {
  return std::make_shared<PolynomialDecay>(
      PolynomialDecayOptions{.initial_rate = c.initial(),
                             .decay_steps = c.number("decay_steps"),
                             .end_rate = c.share(c.number("end_learning_rate", 0.0001)),
                             .power = c.number("power", 1.0),
                             .cycle = c.flag("cycle")});
}

std::shared_ptr<const LearningRateSchedule> read_pieces(const ScheduleConfig& c) {
  std::vector<double> shares = c.list("values");
  for (double& value : shares) value = c.share(value);
  return std::make_shared<PiecewiseConstant>(c.list("boundaries"), shares);
}

struct ScheduleEntry {
  const char* class_name;
  std::shared_ptr<const LearningRateSchedule> (*read)(const ScheduleConfig& config);
};

constexpr ScheduleEntry kSchedules[] = {
    {"CosineDecay", read_cosine},
    {"CosineDecayRestarts", read_restarts},
    {"ExponentialDecay", read_decay<ExponentialDecay>},
    {"InverseTimeDecay", read_decay<InverseTimeDecay>},
    {"PiecewiseConstantDecay", read_pieces},
    {"PolynomialDecay", read_polynomial},
};

const char* keras_class(const ConfigDict& settings) {
  for (const auto& [key, value] : settings)
    if (key == "class_name")
      for (const auto& [keras, ours] : kClasses)
        if (value.as_string() == ours) return keras;
  return nullptr;
}

}  // namespace

ReadSchedule read_schedule(const ConfigValue& described) {
  const ConfigValue* name = described.find("class_name");
  const ConfigValue* config = described.find("config");
  require<InputError>(name != nullptr && name->is_string() && config != nullptr && config->is_dict(),
                      "expected a number or the description of a schedule");
  std::vector<std::string> known;
  for (const ScheduleEntry& entry : kSchedules) {
    known.emplace_back(entry.class_name);
    if (name->as_string() != known.back()) continue;
    const ScheduleConfig reader(*config);
    return {reader.largest(), entry.read(reader)};
  }
  throw InputError(unknown_name("schedule", name->as_string(), known));
}

ConfigValue keras_schedule(const LearningRateSchedule& schedule, double rate) {
  const ConfigDict settings = schedule.config();
  const char* class_name = keras_class(settings);
  if (class_name == nullptr) return {};
  ConfigDict described;
  for (const auto& [key, value] : settings) {
    if (key == "class_name") continue;
    const auto* found = std::ranges::find(kRates, key, &RateName::ours);
    if (found == std::end(kRates))
      described.emplace_back(key, value);
    else
      described.emplace_back(found->keras, times(value, rate));
  }
  return keras_schedule(class_name, described);
}

ConfigValue keras_schedule(const char* class_name, ConfigDict settings) {
  settings.emplace_back("name", class_name);  // Keras 3 trains with no schedule that has none
  return ConfigDict{{"module", "keras.optimizers.schedules"},
                    {"class_name", class_name},
                    {"config", std::move(settings)},
                    {"registered_name", ConfigValue()}};
}

}  // namespace ronde::inline v0
