#include <ronde/models/monitor.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/message_of.h"

namespace ronde::test {
namespace {

const TrainingPlan kPlan{.epochs = 1,
                         .has_validation = true,
                         .metrics = {{"recall", MetricDirection::larger},
                                     {"mean_absolute_error", MetricDirection::smaller},
                                     {"false_accusations", MetricDirection::unknown}}};

/// Whether 2 is better than 1.
bool prefers_larger(const std::string& key, MonitorMode mode = MonitorMode::automatic) {
  Monitor monitor(key, mode);
  monitor.begin(kPlan, "test");
  EXPECT_NE(monitor.better(2, 1), monitor.better(1, 2)) << key;
  return monitor.better(2, 1);
}

TEST(Monitor, AsksTheMetric) {
  EXPECT_TRUE(prefers_larger("recall"));
  EXPECT_TRUE(prefers_larger("val_recall"));
  EXPECT_FALSE(prefers_larger("val_mean_absolute_error"));
  EXPECT_FALSE(prefers_larger("loss"));
  EXPECT_FALSE(prefers_larger("val_loss"));
}

TEST(Monitor, DoesAsItIsTold) {
  EXPECT_FALSE(prefers_larger("val_recall", MonitorMode::min));
  EXPECT_TRUE(prefers_larger("false_accusations", MonitorMode::max));
  EXPECT_TRUE(prefers_larger("learning_rate", MonitorMode::max));
}

// A first epoch that overflows is the best so far, as in Keras, and not the first one without improvement.
TEST(Monitor, AnyFirstValueButNaNImproves) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const MonitorMode mode : {MonitorMode::min, MonitorMode::max}) {
    Monitor monitor("val_loss", mode, 0.5);
    for (const double first : {kInfinity, 0.0, -kInfinity}) EXPECT_TRUE(monitor.improves(first));
    EXPECT_FALSE(monitor.improves(std::nan("")));
    monitor.set_best(mode == MonitorMode::min ? kInfinity : -kInfinity);
    EXPECT_FALSE(monitor.improves(*monitor.best()));
    EXPECT_TRUE(monitor.improves(0.0));
    Monitor restored("val_loss", mode, 0.5);
    restored.restore_best(monitor.saved_best());
    EXPECT_TRUE(restored.improves(0.0));
  }
}

TEST(Monitor, NeverGuesses) {
  for (const char* key : {"false_accusations", "val_false_accusations", "learning_rate", "val_my_accuracy"})
    EXPECT_EQ(message_of<UsageError>([&] { prefers_larger(key); }),
              cat("[test] monitors ", key,
                  ", of which nothing says whether larger or smaller values are better: choose mode, "
                  "MonitorMode::max or MonitorMode::min"));
}

}  // namespace
}  // namespace ronde::test
