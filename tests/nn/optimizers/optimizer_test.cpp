#include <cmath>

#include <ronde/nn/adadelta.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/adamax.h>
#include <ronde/nn/muon.h>
#include <ronde/nn/nadam.h>
#include <ronde/nn/optimizer_factory.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sgd.h>

#include "nn/config_json.h"
#include "nn/vector_net.h"

namespace ronde::test {
namespace {

using Vectors = std::vector<std::vector<double>>;

const Vectors kStart{{1, 2, 3}, {-1, 0.5}};
const Vectors kGradient{{3, -4, 12}, {0.3, 0.4}};  // norms 13 and 0.5

/// One step of SGD with rate 1 from kStart: returns what was subtracted.
Vectors subtracted(const SGDOptions& options, double scale) {
  VectorNet net(kStart, DType::f64);
  SGD sgd(options);
  sgd.attach(net.arena());
  net.set_gradients(kGradient);
  sgd.step(scale);
  Vectors result;
  for (std::size_t i = 0; i < kStart.size(); ++i) {
    result.push_back(net.value(i).to_vector<double>());
    for (std::size_t j = 0; j < kStart[i].size(); ++j) result[i][j] = kStart[i][j] - result[i][j];
  }
  return result;
}

void expect_near(const Vectors& actual, const Vectors& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t j = 0; j < expected[i].size(); ++j)
      EXPECT_NEAR(actual[i][j], expected[i][j], 1e-14) << i << ", " << j;
}

TEST(Optimizer, ScalesTheGradient) {
  expect_near(subtracted({.learning_rate = 1.0}, 0.5), {{1.5, -2, 6}, {0.15, 0.2}});
}

/// What the velocity is after steps with a constant gradient of 1; before the second, rate and momentum
/// change.
template <class SomeOptimizer>
double velocity_of_one_weight(SomeOptimizer&& optimizer, double factor, int steps) {
  VectorNet net(std::vector<double>{0.0}, DType::f64);
  optimizer.attach(net.arena());
  for (int step = 0; step < steps; ++step) {
    if (step == 1) optimizer.scale_momentum_once(factor);
    net.set_gradients({{1.0}});
    optimizer.step();
  }
  for (const OptimizerSlot& slot : optimizer.slots())
    if (slot.name == "momentum") return slot.values.template to_vector<double>()[0];
  return 0.0;
}

TEST(Optimizer, MomentumFactorHoldsForOneStep) {
  // v = m * factor * v - rate * g: -0.1, then 0.5 * 3 * v - 0.1, then 0.5 * v - 0.1.
  const SGDOptions sgd{.learning_rate = 0.1, .momentum = 0.5};
  EXPECT_NEAR(velocity_of_one_weight(SGD(sgd), 3.0, 2), -0.25, 1e-14);
  EXPECT_NEAR(velocity_of_one_weight(SGD(sgd), 3.0, 3), -0.225, 1e-14);
  // rho = 0 and epsilon = 0: the step without momentum is the rate.
  const RMSpropOptions rmsprop{.learning_rate = 0.1, .rho = 0.0, .momentum = 0.5, .epsilon = 0.0};
  EXPECT_NEAR(velocity_of_one_weight(RMSprop(rmsprop), 3.0, 2), 0.25, 1e-14);
  EXPECT_NEAR(velocity_of_one_weight(RMSprop(rmsprop), 3.0, 3), 0.225, 1e-14);
  // Adam's momentum holds no rate.
  EXPECT_EQ(velocity_of_one_weight(Adam(), 3.0, 3), velocity_of_one_weight(Adam(), 1.0, 3));
}

TEST(Optimizer, ClipsTheNormOfEachParameter) {
  // Scaled norms: 6.5 and 0.25; only the first is too long.
  expect_near(subtracted({.learning_rate = 1.0, .clip = {.norm = 1.3}}, 0.5),
              {{0.3, -0.4, 1.2}, {0.15, 0.2}});
}

TEST(Optimizer, ClipsTheNormOfAll) {
  const double factor = 0.5 * 2.0 / (0.5 * std::sqrt(169.25));
  expect_near(subtracted({.learning_rate = 1.0, .clip = {.global_norm = 2.0}}, 0.5),
              {{3 * factor, -4 * factor, 12 * factor}, {0.3 * factor, 0.4 * factor}});
  expect_near(subtracted({.learning_rate = 1.0, .clip = {.global_norm = 100.0}}, 0.5),
              {{1.5, -2, 6}, {0.15, 0.2}});
}

TEST(Optimizer, ClipsValues) {
  expect_near(subtracted({.learning_rate = 1.0, .clip = {.value = 1.6}}, 0.5),
              {{1.5, -1.6, 1.6}, {0.15, 0.2}});
}

TEST(Optimizer, RefusesContradictoryClips) {
  EXPECT_THROW(SGD({.clip = {.norm = 1.0, .value = 1.0}}), UsageError);
  EXPECT_THROW(SGD({.clip = {.norm = -1.0}}), UsageError);
}

TEST(Optimizer, RefusesOptionsOutsideTheirRange) {
  EXPECT_EQ(message_of<UsageError>([] { SGD({.momentum = 2.0}); }),
            "[sgd] momentum must be in [0, 1], got 2");
  EXPECT_EQ(message_of<UsageError>([] { Adam({.beta_1 = 1.0}); }), "[adam] beta_1 must be in [0, 1), got 1");
  EXPECT_EQ(message_of<UsageError>([] { Adadelta({.epsilon = -1e-7}); }),
            "[adadelta] epsilon must be a finite number and not negative, got -1e-07");
  const double nan = std::nan("");
  EXPECT_THROW(SGD({.momentum = nan}), UsageError);
  EXPECT_THROW(SGD({.l2 = nan}), UsageError);
  EXPECT_THROW(SGD({.l2 = -0.1}), UsageError);
  EXPECT_THROW(RMSprop({.rho = 1.0}), UsageError);
  EXPECT_THROW(RMSprop({.momentum = -0.5}), UsageError);
  EXPECT_THROW(RMSprop({.epsilon = nan}), UsageError);
  EXPECT_THROW(AdamW({.beta_2 = 1.5}), UsageError);
  EXPECT_THROW(Adadelta({.rho = -0.1}), UsageError);
  EXPECT_THROW(Adagrad({.initial_accumulator_value = -1.0}), UsageError);
  EXPECT_THROW(Adamax({.beta_1 = 1.0}), UsageError);
  EXPECT_THROW(Nadam({.epsilon = -1.0}), UsageError);
  EXPECT_THROW(Muon({.momentum = 1.5}), UsageError);
  EXPECT_NO_THROW(SGD({.momentum = 1.0}));  // as Keras
  EXPECT_EQ(message_of<InputError>([] {
              optimizer_from_config("Adam", ConfigDict{{"beta_1", 1.0}});
            }),
            "[adam] beta_1 must be in [0, 1), got 1");
}

TEST(Optimizer, RefusesRatesThatCannotTrain) {
  EXPECT_EQ(message_of([] { Adam({.learning_rate = -1.0}); }),
            "[optimizer] learning_rate must be a finite number and not negative, got -1");
  EXPECT_THROW(SGD({.learning_rate = std::nan("")}), UsageError);
  EXPECT_THROW(Nadam({.decay = -0.5}), UsageError);
  EXPECT_THROW(AdamW({.weight_decay = -0.1}), UsageError);
  EXPECT_NO_THROW(SGD({.learning_rate = 0.0}));  // what is frozen is trained at 0 too
}

// mu_1 * ... * mu_t is no part of a file: it is made again from the number of updates.
TEST(Nadam, GoesOnFromItsSlotsAndCount) {
  VectorNet whole(kStart, DType::f64), parted(kStart, DType::f64);
  Nadam one({.learning_rate = 0.1}), first({.learning_rate = 0.1}), second({.learning_rate = 0.1});
  one.attach(whole.arena());
  first.attach(parted.arena());
  const auto step = [](Nadam& nadam, VectorNet& net) {
    net.set_gradients(kGradient);
    nadam.step();
  };
  for (int i = 0; i < 5; ++i) step(one, whole);
  for (int i = 0; i < 3; ++i) step(first, parted);
  const std::vector<OptimizerSlot> saved = first.slots();
  second.attach(parted.arena());
  for (std::size_t i = 0; i < saved.size(); ++i) second.slots()[i].values.copy_from(saved[i].values);
  second.set_iterations(3);
  for (int i = 0; i < 2; ++i) step(second, parted);
  EXPECT_EQ(parted.value(0).to_vector<double>(), whole.value(0).to_vector<double>());
  EXPECT_EQ(parted.value(1).to_vector<double>(), whole.value(1).to_vector<double>());
}

// As a rollback does: the same object, with earlier slots and weights.
TEST(Nadam, GoesBackToEarlierSlotsAndCount) {
  VectorNet net(kStart, DType::f64);
  Nadam nadam({.learning_rate = 0.1});
  nadam.attach(net.arena());
  const auto weights_after = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      net.set_gradients(kGradient);
      nadam.step();
    }
    return net.arena().values().to_vector<double>();
  };
  weights_after(2);
  std::vector<Tensor> kept{net.arena().values().clone()};
  for (const OptimizerSlot& slot : nadam.slots()) kept.push_back(slot.values.clone());
  const std::vector<double> expected = weights_after(3);
  net.arena().values().copy_from(kept[0]);
  for (std::size_t i = 1; i < kept.size(); ++i) nadam.slots()[i - 1].values.copy_from(kept[i]);
  nadam.set_iterations(2);
  EXPECT_EQ(weights_after(3), expected);
}

TEST(Optimizer, DecaysTheRateByCompletedUpdates) {
  VectorNet net(std::vector<double>{0.0}, DType::f64);
  SGD sgd({.learning_rate = 0.5, .decay = 0.25});
  sgd.attach(net.arena());
  double expected = 0.0;
  for (int k = 0; k < 4; ++k) {
    EXPECT_DOUBLE_EQ(sgd.current_learning_rate(), 0.5 / (1 + 0.25 * k));
    net.set_gradient({1.0});
    sgd.step();
    expected -= 0.5 / (1 + 0.25 * k);
  }
  EXPECT_NEAR(net.value().item(), expected, 1e-15);
  sgd.set_iterations(12);
  sgd.set_learning_rate(0.8);
  EXPECT_DOUBLE_EQ(sgd.current_learning_rate(), 0.2);
}

TEST(Optimizer, ScheduleIsAShareOfTheRate) {
  VectorNet net(std::vector<double>{0.0}, DType::f64);
  SGD sgd({.learning_rate = 0.5, .decay = 0.25});
  sgd.set_schedule(std::make_shared<PolynomialDecay>(
      PolynomialDecayOptions{.initial_rate = 1.0, .decay_steps = 4.0, .end_rate = 0.0}));
  sgd.attach(net.arena());
  EXPECT_DOUBLE_EQ(sgd.current_learning_rate(), 0.5);
  net.set_gradient({1.0});
  sgd.step();
  EXPECT_DOUBLE_EQ(sgd.current_learning_rate(), 0.5 * 0.75 / 1.25);
  sgd.set_learning_rate(1.0);
  sgd.set_iterations(2);
  EXPECT_DOUBLE_EQ(sgd.current_learning_rate(), 0.5 / 1.5);
}

// Two steps by hand. Keras': w *= 1 - rate * decay; PyTorch's: g + l2 * w, in the momentum too.
TEST(SGD, KnowsBothConventionsOfWeightDecay) {
  const auto after_two = [](const SGDOptions& options) {
    VectorNet net(std::vector<double>{2.0}, DType::f64);
    SGD sgd(options);
    sgd.attach(net.arena());
    for (int i = 0; i < 2; ++i) {
      net.set_gradient({6.0});
      sgd.step(0.5);
    }
    return net.value().item();
  };
  double w = 2.0, v = 0.0;
  for (int i = 0; i < 2; ++i) {
    v = 0.5 * v - 0.1 * 3.0;
    w = w * (1 - 0.1 * 0.25) + v;
  }
  EXPECT_NEAR(after_two({.learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.25}), w, 1e-14);
  w = 2.0, v = 0.0;
  for (int i = 0; i < 2; ++i) {
    const double g = 3.0 + 0.25 * w;
    v = 0.5 * v - 0.1 * g;
    w += 0.5 * v - 0.1 * g;
  }
  EXPECT_NEAR(after_two({.learning_rate = 0.1, .momentum = 0.5, .nesterov = true, .l2 = 0.25}), w, 1e-14);
  EXPECT_THROW(SGD({.l2 = 0.1, .clip = {.value = 1.0}}), UsageError);
}

TEST(Optimizer, MissingGradientsCountAsZero) {
  VectorNet net(kStart, DType::f64);
  SGD sgd({.learning_rate = 1.0});
  sgd.attach(net.arena());
  net.set_gradients(kGradient);
  sgd.step();
  const std::vector<double> second = net.value(1).to_vector<double>();
  net.set_gradients({kGradient[0]});  // the second weight gets none
  sgd.step();
  EXPECT_EQ(net.value(1).to_vector<double>(), second);
}

TEST(Optimizer, LeavesFrozenWeightsAndPaddingAlone) {
  VectorNet net(kStart, DType::f64);
  ParameterArena& arena = net.arena();
  AdamW adam({.learning_rate = 0.1, .weight_decay = 0.5});
  adam.attach(arena);
  const std::uint64_t version = arena.version();
  for (int k = 0; k < 3; ++k) {
    net.set_gradients(kGradient);
    adam.step();
  }
  EXPECT_EQ(arena.version(), version + 3);
  double weights = 0, all = 0;
  for (std::size_t i = 0; i < 2; ++i)
    for (const double value : net.value(i).to_vector<double>()) weights += std::abs(value);
  for (const double value : arena.values().to_vector<double>()) all += std::abs(value);
  EXPECT_NEAR(weights, all, 1e-14);
}

TEST(Optimizer, StepWithoutArenaIsAnError) {
  SGD sgd;
  EXPECT_EQ(message_of([&] { sgd.step(); }), "[optimizer] is not attached to an arena");
}

TEST(Optimizer, AttachStartsAfresh) {
  VectorNet net(kStart, DType::f64);
  Adam adam;
  adam.attach(net.arena());
  net.set_gradients(kGradient);
  adam.step();
  adam.attach(net.arena());
  EXPECT_EQ(adam.iterations(), 0);
  for (const OptimizerSlot& slot : adam.slots())
    for (const double value : slot.values.to_vector<double>()) EXPECT_EQ(value, 0.0) << slot.name;
}

std::vector<std::string> slot_names(Optimizer&& optimizer) {
  VectorNet net(kStart, DType::f64);
  optimizer.attach(net.arena());
  std::vector<std::string> names;
  for (const OptimizerSlot& slot : optimizer.slots()) {
    EXPECT_EQ(slot.values.count(), net.arena().trainable_size());
    names.push_back(slot.name);
  }
  return names;
}

TEST(Optimizer, SlotsHaveKerasNames) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(slot_names(SGD()), Names{});
  EXPECT_EQ(slot_names(SGD({.momentum = 0.9})), Names{"momentum"});
  EXPECT_EQ(slot_names(RMSprop()), Names{"velocity"});
  EXPECT_EQ(slot_names(RMSprop({.momentum = 0.9, .centered = true})),
            (Names{"velocity", "momentum", "average_gradient"}));
  EXPECT_EQ(slot_names(Adam()), (Names{"momentum", "velocity"}));
  EXPECT_EQ(slot_names(Adam({.amsgrad = true})), (Names{"momentum", "velocity", "velocity_hat"}));
  EXPECT_EQ(slot_names(Adadelta()), (Names{"accumulated_grad", "accumulated_delta_var"}));
  EXPECT_EQ(slot_names(Adagrad()), Names{"accumulator"});
  EXPECT_EQ(slot_names(Adamax()), (Names{"momentum", "norm"}));
  EXPECT_EQ(slot_names(Nadam()), (Names{"momentum", "velocity"}));
}

TEST(OptimizerFactory, ConfigsSurviveARoundTrip) {
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  optimizers.push_back(
      std::make_unique<SGD>(SGDOptions{.learning_rate = 2, .momentum = 0.9, .nesterov = true}));
  optimizers.push_back(std::make_unique<SGD>(SGDOptions{.weight_decay = 0.1}));
  optimizers.push_back(std::make_unique<RMSprop>(
      RMSpropOptions{.rho = 0.8, .momentum = 0.1, .epsilon = 1e-5, .centered = true, .decay = 1e-6}));
  optimizers.push_back(std::make_unique<Adam>(
      AdamOptions{.beta_1 = 0.8, .beta_2 = 0.9, .amsgrad = true, .clip = {.global_norm = 1.0}}));
  optimizers.push_back(std::make_unique<AdamW>(AdamWOptions{.weight_decay = 0.1, .clip = {.value = 2.0}}));
  optimizers.push_back(std::make_unique<Adadelta>(AdadeltaOptions{.rho = 0.5, .clip = {.norm = 3.0}}));
  optimizers.push_back(std::make_unique<Adagrad>(AdagradOptions{.initial_accumulator_value = 0.3}));
  optimizers.push_back(std::make_unique<Adamax>(AdamaxOptions{.beta_1 = 0.7, .epsilon = 1e-3}));
  optimizers.push_back(std::make_unique<Nadam>(NadamOptions{.beta_2 = 0.9, .clip = {.value = 2.0}}));
  for (const auto& optimizer : optimizers) {
    const ConfigDict config = optimizer->config();
    const auto copy = optimizer_from_config(optimizer->name(), config);
    EXPECT_EQ(copy->name(), optimizer->name());
    const ConfigDict again = copy->config();
    ASSERT_EQ(again.size(), config.size());
    for (std::size_t i = 0; i < config.size(); ++i) {
      EXPECT_EQ(again[i].first, config[i].first);
      EXPECT_EQ(again[i].second.storage().index(), config[i].second.storage().index()) << config[i].first;
      if (!config[i].second.is_string() && config[i].second.storage().index() == 3) {
        EXPECT_EQ(again[i].second.as_double(), config[i].second.as_double()) << config[i].first;
      }
    }
  }
}

TEST(OptimizerFactory, WritesTheKeysOfEveryKeras) {
  // learning_rate as a number with a fraction: Keras 3 refuses an integer.
  const ConfigDict config = RMSprop({.learning_rate = 1.0}).config();
  std::vector<std::string> keys;
  for (const auto& [key, value] : config) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"name", "learning_rate", "rho", "momentum", "epsilon", "centered"}));
  EXPECT_TRUE(std::holds_alternative<double>(config[1].second.storage()));
}

// Keras 2.15 and 3.15 load this form; Keras 3 refuses the key `decay` of older versions.
TEST(OptimizerFactory, DecayIsASchedule) {
  const ConfigDict config = RMSprop({.learning_rate = 0.25, .decay = 1e-6}).config();
  const ConfigValue whole(config);
  const ConfigValue& rate = whole.at("learning_rate");
  EXPECT_EQ(rate.at("module").as_string(), "keras.optimizers.schedules");
  EXPECT_EQ(rate.at("class_name").as_string(), "InverseTimeDecay");
  EXPECT_TRUE(rate.at("registered_name").is_null());
  EXPECT_EQ(rate.at("config").at("initial_learning_rate").as_double(), 0.25);
  EXPECT_EQ(rate.at("config").at("decay_steps").as_int(), 1);
  EXPECT_EQ(rate.at("config").at("decay_rate").as_double(), 1e-6);

  const auto copy = optimizer_from_config("RMSprop", config);
  EXPECT_EQ(copy->learning_rate(), 0.25);
  copy->set_iterations(1000000);
  EXPECT_DOUBLE_EQ(copy->current_learning_rate(), 0.125);

  const auto of_old_keras = optimizer_from_config("RMSprop", ConfigDict{{"lr", 0.25}, {"decay", 1e-6}});
  of_old_keras->set_iterations(1000000);
  EXPECT_DOUBLE_EQ(of_old_keras->current_learning_rate(), 0.125);
}

TEST(OptimizerFactory, ReadsOtherSpellings) {
  EXPECT_EQ(optimizer_from_config("Custom>RMSprop", ConfigDict{{"lr", 0.25}, {"jit_compile", false}})
                ->learning_rate(),
            0.25);
  EXPECT_EQ(optimizer_from_config("adam", ConfigDict{{"learning_rate", 1}, {"weight_decay", ConfigValue()}})
                ->learning_rate(),
            1.0);
}

// Keras decays the weights of any optimizer alike, so that its Adam with a decay is its AdamW.
TEST(OptimizerFactory, AdamWithWeightDecayIsAdamW) {
  const auto decaying = optimizer_from_config(
      "Adam", ConfigDict{{"learning_rate", 0.5}, {"weight_decay", 0.25}, {"beta_1", 0.75}});
  const AdamW expected({.learning_rate = 0.5, .weight_decay = 0.25, .beta_1 = 0.75});
  EXPECT_EQ(decaying->name(), "AdamW");
  EXPECT_EQ(to_json(decaying->config()), to_json(expected.config()));
  EXPECT_EQ(optimizer_from_config("Adam", ConfigDict{{"weight_decay", 0.0}})->name(), "Adam");
}

TEST(OptimizerFactory, RefusesWhatItCannotDo) {
  EXPECT_EQ(message_of([] { optimizer_from_config("Ftrl", ConfigDict{}); }),
            "optimizer class \"Ftrl\" is not supported; known are SGD, RMSprop, Adam, AdamW, Adadelta, "
            "Adagrad, Adamax, "
            "Nadam");
  EXPECT_EQ(
      message_of([] { optimizer_from_config("AdamX", ConfigDict{}); }),
      "optimizer class \"AdamX\" is not supported, did you mean Adam? Known are SGD, RMSprop, Adam, AdamW, "
      "Adadelta, Adagrad, Adamax, Nadam");
  for (const char* name : {"RMSprop", "Adadelta", "Adagrad", "Adamax", "Nadam"})
    EXPECT_EQ(message_of([&] {
                optimizer_from_config(name, ConfigDict{{"weight_decay", 0.5}});
              }),
              cat("[", name, "] weight_decay: 0.5 is not supported, only Adam's, AdamW's and SGD's"));
  // Of all Keras' optimizers: weights would be others without them.
  for (const char* name : {"SGD", "RMSprop", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "Nadam"}) {
    EXPECT_TRUE(message_of([&] {
                  optimizer_from_config(name, ConfigDict{{"gradient_accumulation_steps", 2}});
                }).starts_with(cat("[", name, "] gradient_accumulation_steps: 2 is not supported")));
    optimizer_from_config(name, ConfigDict{{"gradient_accumulation_steps", ConfigValue()}});
  }
  const ConfigDict schedule{{"learning_rate", ConfigDict{{"class_name", "ExponentialDecay"}}}};
  EXPECT_EQ(message_of([&] { optimizer_from_config("SGD", schedule); }),
            "[SGD] learning_rate: expected a number or the description of a schedule");
}

}  // namespace
}  // namespace ronde::test
