#include <algorithm>

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

std::unique_ptr<Optimizer> read_sgd(const OptimizerConfig& c) {
  return std::make_unique<SGD>(SGDOptions{.learning_rate = c.rate(0.01),
                                          .momentum = c.number("momentum", 0.0),
                                          .nesterov = c.boolean("nesterov", false),
                                          .weight_decay = c.number("weight_decay", 0.0),
                                          .l2 = c.number("l2", 0.0),
                                          .decay = c.decay(),
                                          .clip = c.clip()});
}

std::unique_ptr<Optimizer> read_rmsprop(const OptimizerConfig& c) {
  return std::make_unique<RMSprop>(
      RMSpropOptions{.learning_rate = c.rate(0.001),
                     .rho = c.number("rho", 0.9),
                     .momentum = c.number("momentum", 0.0),
                     .epsilon = c.number("epsilon", 1e-7),
                     .centered = c.boolean("centered", false),
                     .epsilon_inside_sqrt = c.boolean("epsilon_inside_sqrt", true),
                     .decay = c.decay(),
                     .clip = c.clip()});
}

std::unique_ptr<Optimizer> read_adamw(const OptimizerConfig& c);

/// Keras' Adam with weight decay is its AdamW under another name.
std::unique_ptr<Optimizer> read_adam(const OptimizerConfig& c) {
  if (c.weight_decay() != 0.0) return read_adamw(c);
  return std::make_unique<Adam>(AdamOptions{.learning_rate = c.rate(0.001),
                                            .beta_1 = c.number("beta_1", 0.9),
                                            .beta_2 = c.number("beta_2", 0.999),
                                            .epsilon = c.number("epsilon", 1e-7),
                                            .amsgrad = c.boolean("amsgrad", false),
                                            .decay = c.decay(),
                                            .clip = c.clip()});
}

std::unique_ptr<Optimizer> read_adamw(const OptimizerConfig& c) {
  return std::make_unique<AdamW>(AdamWOptions{.learning_rate = c.rate(0.001),
                                              .weight_decay = c.number("weight_decay", 0.004),
                                              .beta_1 = c.number("beta_1", 0.9),
                                              .beta_2 = c.number("beta_2", 0.999),
                                              .epsilon = c.number("epsilon", 1e-7),
                                              .amsgrad = c.boolean("amsgrad", false),
                                              .decay = c.decay(),
                                              .clip = c.clip()});
}

std::unique_ptr<Optimizer> read_adadelta(const OptimizerConfig& c) {
  return std::make_unique<Adadelta>(AdadeltaOptions{.learning_rate = c.rate(0.001),
                                                    .rho = c.number("rho", 0.95),
                                                    .epsilon = c.number("epsilon", 1e-7),
                                                    .decay = c.decay(),
                                                    .clip = c.clip()});
}

std::unique_ptr<Optimizer> read_adagrad(const OptimizerConfig& c) {
  return std::make_unique<Adagrad>(
      AdagradOptions{.learning_rate = c.rate(0.001),
                     .initial_accumulator_value = c.number("initial_accumulator_value", 0.1),
                     .epsilon = c.number("epsilon", 1e-7),
                     .decay = c.decay(),
                     .clip = c.clip()});
}

/// Options of one optimizer of Adam's kind.
template <class Made, class Options>
std::unique_ptr<Optimizer> read_like_adam(const OptimizerConfig& c) {
  return std::make_unique<Made>(Options{.learning_rate = c.rate(0.001),
                                        .beta_1 = c.number("beta_1", 0.9),
                                        .beta_2 = c.number("beta_2", 0.999),
                                        .epsilon = c.number("epsilon", 1e-7),
                                        .decay = c.decay(),
                                        .clip = c.clip()});
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
