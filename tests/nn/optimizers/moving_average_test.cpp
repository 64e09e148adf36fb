#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/muon.h>
#include <ronde/nn/optimizer_factory.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/sgd.h>

#include "nn/testing.h"
#include "nn/vector_net.h"

namespace ronde::test {
namespace {

using Values = std::vector<double>;

SGD averaging(MovingAverageOptions options) {
  SGD sgd({.learning_rate = 1.0});
  sgd.set_moving_average(options);
  return sgd;
}

/// The average of the first weight.
Values average_of(const Optimizer& optimizer) {
  const OptimizerSlot slot = optimizer.slots().at(0);
  const Segment& weight = optimizer.arena().segments().back();  // in reverse order
  return slot.values.view(weight.offset, {weight.count}).to_vector<double>();
}

/// Steps of SGD, rate 1, along `gradient`.
void descend(Optimizer& optimizer, VectorNet& net, const Values& gradient, int steps = 1) {
  for (int i = 0; i < steps; ++i) {
    net.set_gradient(gradient);
    optimizer.step();
  }
}

TEST(MovingAverage, BeginsWithTheFirstUpdateAndIsTheFormulaThen) {
  SGD sgd = averaging({.momentum = 0.75});
  VectorNet net(Values{8, -2}, DType::f64);
  sgd.attach(net.arena());
  descend(sgd, net, {1, 2});
  EXPECT_EQ(average_of(sgd), (Values{7, -4}));
  descend(sgd, net, {4, 0});
  EXPECT_EQ(average_of(sgd), (Values{0.75 * 7 + 0.25 * 3, -4}));
  EXPECT_EQ(net.value().to_vector<double>(), (Values{3, -4})) << "the weights know nothing of it";
  EXPECT_EQ(sgd.slots().size(), 1u);
  EXPECT_EQ(sgd.slots()[0].name, "average");
}

TEST(MovingAverage, OverwritesTheWeights) {
  SGD sgd = averaging({.momentum = 0.5, .overwrite_frequency = 2});
  VectorNet net(Values{8}, DType::f64);
  sgd.attach(net.arena());
  descend(sgd, net, {2});
  EXPECT_EQ(net.value().to_vector<double>(), Values{6});
  descend(sgd, net, {2});
  EXPECT_EQ(net.value().to_vector<double>(), Values{5}) << "the average of 6 and 4";
  descend(sgd, net, {2});
  EXPECT_EQ(net.value().to_vector<double>(), Values{3});
}

TEST(MovingAverage, IsExchangedWithTheWeightsAndBack) {
  SGD sgd = averaging({.momentum = 0.5});
  VectorNet net(Values{8}, DType::f64);
  sgd.attach(net.arena());
  descend(sgd, net, {2}, 2);
  sgd.swap_average();
  EXPECT_TRUE(sgd.is_averaged());
  EXPECT_EQ(net.value().to_vector<double>(), Values{5});
  EXPECT_EQ(sgd.slots()[0].name, "trained");
  EXPECT_EQ(average_of(sgd), Values{4});
  sgd.swap_average();
  EXPECT_FALSE(sgd.is_averaged());
  EXPECT_EQ(net.value().to_vector<double>(), Values{4});
  EXPECT_EQ(average_of(sgd), Values{5});
}

TEST(MovingAverage, BeforeTheFirstUpdateIsTheWeights) {
  SGD sgd = averaging({});
  VectorNet net(Values{8}, DType::f64);
  sgd.attach(net.arena());
  sgd.swap_average();
  EXPECT_EQ(net.value().to_vector<double>(), Values{8});
  EXPECT_TRUE(sgd.is_averaged());
  sgd.swap_average();
  EXPECT_EQ(net.value().to_vector<double>(), Values{8});
}

TEST(MovingAverage, AStepOnTheAveragesGoesOnFromThem) {
  SGD sgd = averaging({.momentum = 0.5});
  VectorNet net(Values{8}, DType::f64);
  sgd.attach(net.arena());
  descend(sgd, net, {2}, 2);
  sgd.swap_average();
  descend(sgd, net, {1});
  EXPECT_FALSE(sgd.is_averaged());
  EXPECT_EQ(net.value().to_vector<double>(), Values{4});
  EXPECT_EQ(average_of(sgd), Values{4.5});
}

TEST(MovingAverage, StartsAfreshWhenAttached) {
  SGD sgd = averaging({.momentum = 0.5});
  VectorNet net(Values{8}, DType::f64);
  sgd.attach(net.arena());
  descend(sgd, net, {2});
  sgd.swap_average();
  sgd.attach(net.arena());
  EXPECT_FALSE(sgd.is_averaged());
  descend(sgd, net, {2});
  EXPECT_EQ(average_of(sgd), Values{4});
}

/// As with sharded state: what another part updates is not touched.
TEST(MovingAverage, KeepsToItsPart) {
  SGD sgd = averaging({.momentum = 0.5});
  VectorNet net(Values{8, 8, 8}, DType::f64);
  sgd.restrict_to({.ranges = {{1, 2}}, .sum = {}});
  sgd.attach(net.arena());
  descend(sgd, net, {2, 2, 2}, 2);
  ASSERT_EQ(sgd.slots()[0].values.count(), 1);
  EXPECT_EQ(sgd.slots()[0].values.to_vector<double>(), Values{5});
  sgd.swap_average();
  EXPECT_EQ(net.value().to_vector<double>(), (Values{8, 5, 8}));
}

TEST(MovingAverage, OfGroupsIsThatOfAllWeights) {
  OptimizerGroups groups(optimizer_group("w1", SGD({.learning_rate = 1.0, .momentum = 0.5})),
                         optimizer_group("*", SGD({.learning_rate = 1.0})));
  groups.set_moving_average({.momentum = 0.5});
  VectorNet net(std::vector<Values>{{8}, {16}}, DType::f64);
  groups.attach(net.arena());
  for (int i = 0; i < 2; ++i) {
    net.set_gradients({{2}, {2}});
    groups.step();
  }
  EXPECT_EQ(groups.iterations(), 2);
  std::vector<std::string> names;
  for (const OptimizerSlot& slot : groups.slots()) names.push_back(slot.name);
  EXPECT_EQ(names, (std::vector<std::string>{"average", "momentum"}));
  groups.swap_average();
  EXPECT_EQ(net.value(0).to_vector<double>(), Values{5});
  EXPECT_EQ(net.value(1).to_vector<double>(), Values{0.5 * 14 + 0.5 * 11});
  const ConfigDict settings = settings_of(groups);
  EXPECT_TRUE(std::any_of(settings.begin(), settings.end(),
                          [](const auto& setting) { return setting.first == "ema_momentum"; }));

  SGD inner = averaging({});
  EXPECT_EQ(message_of([&] { OptimizerGroups(optimizer_group("*", std::move(inner))); }),
            "[optimizer_groups] the group \"*\" has a moving average: it is the OptimizerGroups that keeps "
            "one, of all weights");
}

TEST(MovingAverage, RefusesWhatIsNone) {
  SGD sgd;
  EXPECT_EQ(message_of([&] { sgd.set_moving_average({.momentum = 1.5}); }),
            "[optimizer] the momentum of a moving average must be in [0, 1], got 1.5");
  EXPECT_EQ(message_of([&] { sgd.set_moving_average({.overwrite_frequency = -1}); }),
            "[optimizer] the overwrite_frequency of a moving average must not be negative, got -1");
  VectorNet net(Values{8}, DType::f64);
  sgd.attach(net.arena());
  EXPECT_EQ(message_of([&] { sgd.swap_average(); }),
            "[optimizer] SGD keeps no moving average: see set_moving_average");
  EXPECT_EQ(message_of([&] { sgd.set_moving_average({}); }),
            "[optimizer] is attached: its moving average is to be set before `attach` or `compile`");
}

TEST(MovingAverage, SurvivesARoundTripOfConfigs) {
  Adam adam;
  adam.set_moving_average({.momentum = 0.9, .overwrite_frequency = 100});
  const auto copy = optimizer_from_config("Adam", adam.config());
  ASSERT_TRUE(copy->moving_average().has_value());
  EXPECT_EQ(copy->moving_average()->momentum, 0.9);
  EXPECT_EQ(copy->moving_average()->overwrite_frequency, 100);
  const ConfigDict keras3{{"use_ema", true}, {"ema_momentum", 0.99}, {"ema_overwrite_frequency", {}}};
  EXPECT_EQ(optimizer_from_config("SGD", keras3)->moving_average()->overwrite_frequency, 0);
  EXPECT_FALSE(optimizer_from_config("SGD", ConfigDict{{"use_ema", false}, {"ema_momentum", 0.99}})
                   ->moving_average()
                   .has_value());
  EXPECT_EQ(message_of<InputError>([] {
              optimizer_from_config("SGD", ConfigDict{{"use_ema", true}, {"ema_momentum", 2.0}});
            }),
            "[optimizer] the momentum of a moving average must be in [0, 1], got 2");
}

/// The optimizer of one of Keras' traces, with `momentum` for the averages.
std::unique_ptr<Optimizer> traced_optimizer(const nlohmann::json& trace, double momentum) {
  ConfigDict config{{"use_ema", true}, {"ema_momentum", momentum}};
  for (const auto& [key, value] : trace.at("config").items())
    if (key != "ema_momentum" && key != "gradient_accumulation_steps")
      config.emplace_back(key, value.get<double>());
  return optimizer_from_config(trace.at("class_name"), config);
}

VectorNet traced_net() {
  Values start;
  for (int i = 0; i < 6; ++i) start.push_back(std::cos(i));
  return {start, DType::f64};
}

/// The mean of `count` gradients from number t on.
Values traced_gradient(std::size_t t, std::size_t count) {
  Values gradient(6);
  for (std::size_t k = t; k < t + count; ++k)
    for (std::size_t i = 0; i < 6; ++i)
      gradient[i] += std::sin(0.7 * static_cast<double>(i) + 0.3 * static_cast<double>(k)) *
                     (1.0 + 0.1 * static_cast<double>(i)) / static_cast<double>(count);
  return gradient;
}

TEST(MovingAverage, IsThatOfKeras) {
  const nlohmann::json traces = read_golden("moving_average_keras3.15.1/traces.json");
  ASSERT_EQ(traces.size(), 3u);
  for (const auto& [name, trace] : traces.items()) {
    SCOPED_TRACE(name);
    const auto optimizer = traced_optimizer(trace, trace.at("config").value("ema_momentum", 0.99));
    VectorNet net = traced_net();
    optimizer->attach(net.arena());
    const auto weights = trace.at("weights").get<std::vector<Values>>();
    const auto averages = trace.at("averages").get<std::vector<Values>>();
    for (std::size_t t = 0; t < weights.size(); ++t) {
      descend(*optimizer, net, traced_gradient(t, 1));
      expect_close(net.value(), weights[t], 1e-12, cat("weights of step ", t));
      expect_close(f64_tensor({6}, average_of(*optimizer)), averages[t], 1e-7, cat("averages of step ", t));
    }
  }
}

// Keras moves the average towards the weights at each batch, so N times by the time of the next update, which
// is once with its momentum to the power of N. Weights that each update overwrites stay where they are until
// then.
TEST(MovingAverage, OfSeveralBatchesPerUpdateIsThatOfKerasByTheNextUpdate) {
  constexpr std::size_t kBatches = 3;
  const nlohmann::json traces = read_golden("moving_average_keras3.15.1/accumulated.json");
  ASSERT_EQ(traces.size(), 2u);
  for (const auto& [name, trace] : traces.items()) {
    SCOPED_TRACE(name);
    const bool is_overwritten = trace.at("config").contains("ema_overwrite_frequency");
    const double momentum = trace.at("config").at("ema_momentum");
    const auto optimizer = traced_optimizer(trace, is_overwritten ? momentum : std::pow(momentum, kBatches));
    VectorNet net = traced_net();
    optimizer->attach(net.arena());
    const auto weights = trace.at("weights").get<std::vector<Values>>();
    const auto averages = trace.at("averages").get<std::vector<Values>>();
    for (std::size_t t = 0; t + 2 * kBatches <= weights.size(); t += kBatches) {
      descend(*optimizer, net, traced_gradient(t, kBatches));
      const std::size_t before_next = t + 2 * kBatches - 2;
      expect_close(net.value(), weights[before_next], 1e-7, cat("weights of batch ", before_next));
      expect_close(f64_tensor({6}, average_of(*optimizer)), averages[before_next], 1e-7,
                   cat("averages of batch ", before_next));
    }
  }
}

}  // namespace
}  // namespace ronde::test
