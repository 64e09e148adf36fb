// Learning-rate schedules in the configs of optimizers: as Keras describes them, there and back.
#include <memory>

#include <ronde/nn/optimizer_factory.h>
#include <ronde/nn/sgd.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

using nlohmann::json;

std::unique_ptr<Optimizer> with_rate(const ConfigValue& rate) {
  return optimizer_from_config("SGD", ConfigDict{{"learning_rate", rate}});
}

double rate_at(Optimizer& optimizer, std::int64_t position) {
  optimizer.set_iterations(position);
  return optimizer.current_learning_rate();
}

TEST(ScheduleConfig, AllOfKerasAreReadAndWritten) {
  const json record = read_golden("schedules_keras3.15.1.json");
  ASSERT_EQ(record.at("schedules").size(), 44u);
  for (const json& entry : record.at("schedules")) {
    SCOPED_TRACE(entry.at("described").dump());
    const auto read = with_rate(from_json(ordered_json::parse(entry.at("described").dump())));
    const ConfigValue written = ConfigValue(read->config()).at("learning_rate");
    EXPECT_EQ(written.at("class_name").as_string(), entry.at("described").at("class_name").get<std::string>());
    EXPECT_TRUE(written.at("config").at("name").is_string());  // or Keras 3 does not train on
    const auto again = with_rate(written);
    for (std::size_t i = 0; i < record.at("positions").size(); ++i) {
      const std::int64_t position = record.at("positions")[i];
      const double expected = entry.at("rates")[i];
      EXPECT_NEAR(rate_at(*read, position), expected, 1e-5 * expected + 1e-9) << position;  // of floats
      EXPECT_DOUBLE_EQ(rate_at(*again, position), rate_at(*read, position)) << position;
    }
  }
}

// So that linear scaling, warm-up and callbacks, which change the rate, work as they do without a schedule.
TEST(ScheduleConfig, TheOptimizerHasTheLargestRate) {
  const auto rate_of = [](const char* text) {
    return with_rate(from_json(ordered_json::parse(text)))->learning_rate();
  };
  EXPECT_EQ(rate_of(R"({"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.0,
    "decay_steps": 10, "warmup_target": 0.5, "warmup_steps": 2}})"),
            0.5);
  EXPECT_EQ(rate_of(R"({"class_name": "PiecewiseConstantDecay", "config": {"boundaries": [3],
    "values": [0.25, 0.125]}})"),
            0.25);
}

// What another rate makes of it is in the file too, and what ranks compare does not depend on the rate.
TEST(ScheduleConfig, OfAnOptimizerInUse) {
  SGD sgd({.learning_rate = 0.5});
  sgd.set_schedule(std::make_shared<ExponentialDecay>(
      DecayOptions{.initial_rate = 0.25, .decay_steps = 10, .decay_rate = 0.5}));
  const ConfigValue rate = ConfigValue(sgd.config()).at("learning_rate");
  EXPECT_EQ(rate.at("module").as_string(), "keras.optimizers.schedules");
  EXPECT_EQ(rate.at("config").at("initial_learning_rate").as_double(), 0.125);
  EXPECT_DOUBLE_EQ(rate_at(*with_rate(rate), 10), 0.0625);
  const std::string settings = to_json(settings_of(sgd)).dump();
  sgd.set_learning_rate(3.0);
  EXPECT_EQ(to_json(settings_of(sgd)).dump(), settings);
  EXPECT_NE(settings.find(R"("schedule's decay_rate":0.5)"), std::string::npos) << settings;

  // Keras has none like it.
  sgd.set_schedule(std::make_shared<OneCycle>(OneCycleOptions{.peak_rate = 1.0}));
  EXPECT_EQ(ConfigValue(sgd.config()).at("learning_rate").as_double(), 3.0);
}

TEST(ScheduleConfig, WhatIsNotKnownIsNamed) {
  const auto message = [](const ConfigValue& rate) { return message_of([&] { with_rate(rate); }); };
  EXPECT_EQ(
      message(ConfigDict{{"class_name", "MySchedule"}, {"config", ConfigDict()}}),
      "[SGD] learning_rate: schedule \"MySchedule\" is not supported; known are CosineDecay, "
      "CosineDecayRestarts, ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay");
  EXPECT_EQ(message(ConfigDict{{"class_name", "CosineDecay"},
                               {"config", ConfigDict{{"initial_learning_rate", 0.1}}}}),
            "[SGD] learning_rate: key \"decay_steps\" is missing");
  EXPECT_EQ(message(ConfigDict{{"class_name", "CosineDecay"},
                               {"config", ConfigDict{{"initial_learning_rate", 0.1}, {"decay_steps", 0}}}}),
            "[SGD] learning_rate: [schedule] decay_steps must be positive, got 0");
  EXPECT_EQ(message("fast"), "[SGD] learning_rate: expected a number, found a string");
}

}  // namespace
}  // namespace ronde::test
