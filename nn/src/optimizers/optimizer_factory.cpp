#include <initializer_list>
#include <utility>

#include <ronde/core/text.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/adamax.h>
#include <ronde/nn/nadam.h>
#include <ronde/nn/optimizer_factory.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sgd.h>

#include "config/config_options.h"
#include "config/known_names.h"
#include "optimizers/schedule_config.h"

namespace ronde::inline v0 {

namespace {

/// The config of one optimizer, being read.
class OptimizerConfig {
 public:
  OptimizerConfig(std::string label, const ConfigValue& config) : label_(std::move(label)), config_(config) {
    require<InputError>(config.is_dict(), "[", label_, "] config is not a dict");
    read_rate();
  }

  double number(const char* key, double otherwise) const {
    return read(key, otherwise, [](const ConfigValue& value) { return value.as_double(); });
  }
  bool boolean(const char* key, bool otherwise) const {
    return read(key, otherwise, [](const ConfigValue& value) { return value.as_bool(); });
  }
  double rate(double otherwise) const {
    if (schedule_.shape) return schedule_.rate;
    return number("learning_rate", number("lr", otherwise));
  }
  double decay() const { return decay_; }
  /// Beside `rate`, as a share of it; nullptr: none.
  std::shared_ptr<const LearningRateSchedule> schedule() const {
    return decay_ == 0.0 ? schedule_.shape : nullptr;
  }
  std::optional<MovingAverageOptions> moving_average() const {
    if (!boolean("use_ema", false)) return {};
    return MovingAverageOptions{
        .momentum = number("ema_momentum", 0.99),
        .overwrite_frequency = static_cast<std::int64_t>(number("ema_overwrite_frequency", 0.0))};
  }
  ClipOptions clip() const {
    return {.norm = number("clipnorm", 0.0),
            .global_norm = number("global_clipnorm", 0.0),
            .value = number("clipvalue", 0.0)};
  }
  double weight_decay() const { return number("weight_decay", 0.0); }
  void expect_no_weight_decay() const {
    const double decay = weight_decay();
    require<InputError>(decay == 0.0, "[", label_, "] weight_decay: ", decay,
                        " is not supported, only Adam's, AdamW's and SGD's");
  }
  /// What Keras' base class of all optimizers can do and these cannot.
  void expect_plain_updates() const {
    const double batches = number("gradient_accumulation_steps", 1.0);
    require<InputError>(batches == 1.0, "[", label_, "] gradient_accumulation_steps: ", batches,
                        " is not supported here, only as `fit`'s backward_passes_per_step");
  }

 private:
  /// The old key `decay` means the same as an InverseTimeDecay without staircase.
  void read_rate() {
    decay_ = number("decay", 0.0);
    const ConfigValue* rate = config_.find("learning_rate");
    if (rate == nullptr || !rate->is_dict()) return;
    schedule_ = read("learning_rate", ReadSchedule(), read_schedule);
    const ConfigValue& settings = rate->at("config");
    const ConfigValue* staircase = settings.find("staircase");
    if (rate->at("class_name").as_string() == "InverseTimeDecay" && !(staircase && staircase->as_bool()))
      decay_ = settings.at("decay_rate").as_double() / settings.at("decay_steps").as_double();
  }

  template <class T, class F>
  T read(const char* key, T otherwise, F&& convert) const {
    const ConfigValue* value = config_.find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    try {
      return convert(*value);
    } catch (const Error& error) {
      throw InputError(cat("[", label_, "] ", key, ": ", error.what()));
    }
  }

  std::string label_;
  const ConfigValue& config_;
  ReadSchedule schedule_;
  double decay_ = 0.0;
};

/// A setting of an optimizer by its key; its default is that of the options.
template <class Options, class T>
using Settings = std::initializer_list<std::pair<const char*, T Options::*>>;

template <class Made, class Options>
std::unique_ptr<Optimizer> read(const OptimizerConfig& c, Settings<Options, double> numbers,
                                Settings<Options, bool> switches = {}) {
  Options options;
  options.learning_rate = c.rate(options.learning_rate);
  options.decay = c.decay();
  options.clip = c.clip();
  for (const auto& [key, number] : numbers) options.*number = c.number(key, options.*number);
  for (const auto& [key, is_on] : switches) options.*is_on = c.boolean(key, options.*is_on);
  return std::make_unique<Made>(options);
}

std::unique_ptr<Optimizer> read_sgd(const OptimizerConfig& c) {
  using O = SGDOptions;
  return read<SGD, O>(c, {{"momentum", &O::momentum}, {"weight_decay", &O::weight_decay}, {"l2", &O::l2}},
                      {{"nesterov", &O::nesterov}});
}

std::unique_ptr<Optimizer> read_rmsprop(const OptimizerConfig& c) {
  using O = RMSpropOptions;
  return read<RMSprop, O>(c, {{"rho", &O::rho}, {"momentum", &O::momentum}, {"epsilon", &O::epsilon}},
                          {{"centered", &O::centered}, {"epsilon_inside_sqrt", &O::epsilon_inside_sqrt}});
}

template <class Made, class O>
std::unique_ptr<Optimizer> read_like_adam(const OptimizerConfig& c) {
  return read<Made, O>(c, {{"beta_1", &O::beta_1}, {"beta_2", &O::beta_2}, {"epsilon", &O::epsilon}});
}

std::unique_ptr<Optimizer> read_adamw(const OptimizerConfig& c) {
  using O = AdamWOptions;
  return read<AdamW, O>(c,
                        {{"weight_decay", &O::weight_decay},
                         {"beta_1", &O::beta_1},
                         {"beta_2", &O::beta_2},
                         {"epsilon", &O::epsilon}},
                        {{"amsgrad", &O::amsgrad}});
}

/// Keras' Adam with weight decay is its AdamW under another name.
std::unique_ptr<Optimizer> read_adam(const OptimizerConfig& c) {
  using O = AdamOptions;
  if (c.weight_decay() != 0.0) return read_adamw(c);
  return read<Adam, O>(c, {{"beta_1", &O::beta_1}, {"beta_2", &O::beta_2}, {"epsilon", &O::epsilon}},
                       {{"amsgrad", &O::amsgrad}});
}

std::unique_ptr<Optimizer> read_adadelta(const OptimizerConfig& c) {
  using O = AdadeltaOptions;
  return read<Adadelta, O>(c, {{"rho", &O::rho}, {"epsilon", &O::epsilon}});
}

std::unique_ptr<Optimizer> read_adagrad(const OptimizerConfig& c) {
  using O = AdagradOptions;
  return read<Adagrad, O>(
      c, {{"initial_accumulator_value", &O::initial_accumulator_value}, {"epsilon", &O::epsilon}});
}

struct OptimizerEntry {
  const char* class_name;
  const char* name;  // lower case
  std::unique_ptr<Optimizer> (*read)(const OptimizerConfig& config);
  bool decays_weights;
};

constexpr OptimizerEntry kOptimizers[] = {{"SGD", "sgd", read_sgd, true},
                                          {"RMSprop", "rmsprop", read_rmsprop, false},
                                          {"Adam", "adam", read_adam, true},
                                          {"AdamW", "adamw", read_adamw, true},
                                          {"Adadelta", "adadelta", read_adadelta, false},
                                          {"Adagrad", "adagrad", read_adagrad, false},
                                          {"Adamax", "adamax", read_like_adam<Adamax, AdamaxOptions>, false},
                                          {"Nadam", "nadam", read_like_adam<Nadam, NadamOptions>, false}};

}  // namespace

std::unique_ptr<Optimizer> optimizer_from_config(const std::string& class_name, const ConfigValue& config) {
  // TensorFlow 2 puts this before its own.
  constexpr std::string_view kCustom = "Custom>";
  const std::string plain =
      lower_case(class_name.starts_with(kCustom) ? class_name.substr(kCustom.size()) : class_name);
  for (const OptimizerEntry& entry : kOptimizers) {
    if (plain != entry.name) continue;
    const OptimizerConfig reader(class_name, config);
    reader.expect_plain_updates();
    if (!entry.decays_weights) reader.expect_no_weight_decay();
    return made_of_options([&] {
      std::unique_ptr<Optimizer> optimizer = entry.read(reader);
      optimizer->set_schedule(reader.schedule());
      if (const auto average = reader.moving_average()) optimizer->set_moving_average(*average);
      return optimizer;
    });
  }
  std::vector<std::string> known, spelt_lower;
  for (const OptimizerEntry& entry : kOptimizers) known.emplace_back(entry.class_name);
  for (const OptimizerEntry& entry : kOptimizers) spelt_lower.emplace_back(entry.name);
  throw InputError(unknown_name("optimizer class", class_name, known, spelt_lower));
}

}  // namespace ronde::inline v0
