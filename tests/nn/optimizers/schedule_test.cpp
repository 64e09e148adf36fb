#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <ronde/nn/schedule.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Schedule, ConstantRate) {
  EXPECT_EQ(ConstantRate(0.3)(1e6), 0.3);
}

TEST(Schedule, InverseTimeDecay) {
  const InverseTimeDecay smooth({.initial_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5});
  EXPECT_DOUBLE_EQ(smooth(0), 0.1);
  EXPECT_DOUBLE_EQ(smooth(15), 0.1 / 1.75);
  const InverseTimeDecay stairs(
      {.initial_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5, .staircase = true});
  EXPECT_DOUBLE_EQ(stairs(19), 0.1 / 1.5);
}

TEST(Schedule, ExponentialDecay) {
  const ExponentialDecay smooth({.initial_rate = 0.8, .decay_steps = 2, .decay_rate = 0.25});
  EXPECT_DOUBLE_EQ(smooth(0), 0.8);
  EXPECT_DOUBLE_EQ(smooth(1), 0.4);
  EXPECT_DOUBLE_EQ(smooth(4), 0.05);
  const ExponentialDecay stairs(
      {.initial_rate = 0.8, .decay_steps = 2, .decay_rate = 0.25, .staircase = true});
  EXPECT_DOUBLE_EQ(stairs(3.9), 0.2);
}

TEST(Schedule, PiecewiseConstant) {
  const PiecewiseConstant rate({10, 20}, {1.0, 0.5, 0.1});
  EXPECT_EQ(rate(0), 1.0);
  EXPECT_EQ(rate(10), 1.0);  // Keras: up to and with the boundary
  EXPECT_EQ(rate(10.5), 0.5);
  EXPECT_EQ(rate(20), 0.5);
  EXPECT_EQ(rate(21), 0.1);
  EXPECT_THROW(PiecewiseConstant({10}, {1.0}), UsageError);
  EXPECT_EQ(message_of<UsageError>([] {
              PiecewiseConstant({20, 10}, {1.0, 2.0, 3.0});
            }),
            "[schedule] boundaries must not decrease, got 10 after 20");
}

TEST(Schedule, CosineDecay) {
  const CosineDecay rate({.initial_rate = 0.2, .decay_steps = 100, .alpha = 0.1});
  EXPECT_DOUBLE_EQ(rate(0), 0.2);
  EXPECT_NEAR(rate(50), 0.2 * (0.9 * 0.5 + 0.1), 1e-15);
  EXPECT_NEAR(rate(25), 0.2 * (0.9 * 0.5 * (1 + std::sqrt(0.5)) + 0.1), 1e-15);
  EXPECT_NEAR(rate(100), 0.02, 1e-15);
  EXPECT_NEAR(rate(1000), 0.02, 1e-15);
  // As in Keras a target is where the decay begins, whether or not steps lead to it.
  const CosineDecay at_once({.initial_rate = 0.2, .decay_steps = 100, .warmup_target = 0.5});
  EXPECT_DOUBLE_EQ(at_once(0), 0.5);
  EXPECT_NEAR(at_once(50), 0.25, 1e-15);
}

// Also where log(243) / log(3) is rounded to less than 5.
TEST(Schedule, CosineDecayWarmsUpToATargetAlone) {
  const CosineDecayOptions options{.initial_rate = 0.2, .decay_steps = 100, .warmup_steps = 10};
  EXPECT_EQ(CosineDecay(options)(0), 0.2);
  EXPECT_EQ(CosineDecay(options)(100), 0.0);
  CosineDecayOptions down = options;
  down.warmup_target = 0.0;
  EXPECT_DOUBLE_EQ(CosineDecay(down)(5), 0.1);
  EXPECT_EQ(CosineDecay(down)(10), 0.0);
}

TEST(Schedule, CosineDecayRestartsBeginAnewWhereAPeriodEnds) {
  for (const double t_mul : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0}) {
    const CosineDecayRestarts rate(
        {.initial_rate = 0.5, .first_decay_steps = 8, .t_mul = t_mul, .m_mul = 0.5, .alpha = 0.1});
    double begin = 0.0, length = 8.0, height = 0.5 * 0.9;
    for (int period = 0; period < 6; ++period) {
      SCOPED_TRACE(cat("t_mul ", t_mul, ", period ", period));
      EXPECT_NEAR(rate(begin), height + 0.05, 1e-9);
      EXPECT_NEAR(rate(begin + length / 2), height / 2 + 0.05, 1e-9);
      begin += length;
      length *= t_mul;
      height *= 0.5;
    }
  }
}

TEST(Schedule, RefusesNonPositiveDecaySteps) {
  EXPECT_THROW(ExponentialDecay({.decay_steps = 0}), UsageError);
  EXPECT_THROW(CosineDecay({.decay_steps = -1}), UsageError);
}

TEST(Schedule, WarmupGrowsFromOneRanksRateToAll) {
  const WarmupOptions four{.rate = 0.4, .scale = 4, .steps_per_epoch = 10, .warmup_epochs = 5};
  // (epoch + (batch + 1) / steps) of 5 epochs have passed: 0.1 + 0.3 * that share.
  EXPECT_NEAR(warmup_learning_rate(four, 0, 0), 0.1 + 0.3 * 0.1 / 5, 1e-15);
  EXPECT_NEAR(warmup_learning_rate(four, 2, 4), 0.1 + 0.3 * 2.5 / 5, 1e-15);
  EXPECT_NEAR(warmup_learning_rate(four, 4, 9), 0.4, 1e-15);
  EXPECT_EQ(warmup_learning_rate(four, 7, 0), 0.4);
  EXPECT_EQ(warmup_learning_rate({.rate = 0.4, .scale = 1}, 0, 0), 0.4);
  EXPECT_EQ(warmup_learning_rate({.rate = 0.4, .scale = 8, .warmup_epochs = 0}, 0, 0), 0.4);
}

TEST(Schedule, PolynomialDecay) {
  const PolynomialDecay line({.initial_rate = 1.0, .decay_steps = 4, .end_rate = 0.2});
  EXPECT_DOUBLE_EQ(line(0), 1.0);
  EXPECT_DOUBLE_EQ(line(1), 0.8);
  EXPECT_DOUBLE_EQ(line(9), 0.2);
  EXPECT_DOUBLE_EQ(PolynomialDecay({.initial_rate = 1.0, .decay_steps = 4, .end_rate = 0.0, .power = 2})(2),
                   0.25);
}

// As torch.optim.lr_scheduler.OneCycleLR with max_lr = 0.01, total_steps = 11: the peak is at step 2.3.
TEST(Schedule, OneCycle) {
  const OneCycle rate({.peak_rate = 0.01, .total_steps = 11});
  const auto cosine = [](double from, double to, double done) {
    return from + (to - from) * (1.0 - std::cos(std::numbers::pi * done)) / 2.0;
  };
  EXPECT_NEAR(rate(0), 0.0004, 1e-15);
  EXPECT_NEAR(rate(1), cosine(0.0004, 0.01, 1 / 2.3), 1e-15);
  EXPECT_NEAR(rate(3), cosine(0.01, 4e-8, 0.7 / 7.7), 1e-15);
  EXPECT_NEAR(rate(10), 4e-8, 1e-15);
  EXPECT_NEAR(rate(12), 4e-8, 1e-15);
  EXPECT_NEAR(OneCycle({.peak_rate = 1.0, .total_steps = 10, .warmup_share = 0.0})(0), 1.0, 1e-15);
  EXPECT_THROW(OneCycle({.total_steps = 1}), UsageError);
  EXPECT_THROW(OneCycle({.total_steps = 9, .warmup_share = 1.0}), UsageError);
}

// What ranks and resumed runs compare: two schedules that differ anywhere differ here.
TEST(Schedule, ConfigTellsSchedulesApart) {
  const auto text = [](const LearningRateSchedule& schedule) {
    std::string all;
    for (const auto& [key, value] : schedule.config()) {
      all += key;
      if (value.is_string()) all += value.as_string();
      if (value.is_list())
        for (const ConfigValue& item : value.as_list()) all += cat(' ', item.as_double());
      if (std::holds_alternative<double>(value.storage())) all += cat(' ', value.as_double());
      if (std::holds_alternative<std::int64_t>(value.storage())) all += cat(' ', value.as_int());
      if (std::holds_alternative<bool>(value.storage())) all += cat(' ', value.as_bool());
    }
    return all;
  };
  const std::vector<std::string> texts{
      text(ConstantRate(1)),
      text(ConstantRate(2)),
      text(InverseTimeDecay({.decay_steps = 2})),
      text(InverseTimeDecay({.decay_steps = 3})),
      text(ExponentialDecay({.decay_steps = 2})),
      text(ExponentialDecay({.decay_steps = 2, .decay_rate = 0.1})),
      text(ExponentialDecay({.decay_steps = 2, .staircase = true})),
      text(PiecewiseConstant({1}, {1, 2})),
      text(PiecewiseConstant({2}, {1, 2})),
      text(PiecewiseConstant({1}, {1, 3})),
      text(CosineDecay({.decay_steps = 2})),
      text(CosineDecay({.decay_steps = 2, .alpha = 0.5})),
      text(CosineDecay({.decay_steps = 2, .warmup_target = 0.0})),
      text(CosineDecay({.decay_steps = 2, .warmup_target = 0.5})),
      text(CosineDecay({.decay_steps = 2, .warmup_target = 0.5, .warmup_steps = 2})),
      text(CosineDecayRestarts({.first_decay_steps = 2})),
      text(CosineDecayRestarts({.first_decay_steps = 2, .t_mul = 1})),
      text(CosineDecayRestarts({.first_decay_steps = 2, .m_mul = 0.5})),
      text(CosineDecayRestarts({.first_decay_steps = 2, .alpha = 0.5})),
      text(PolynomialDecay({.decay_steps = 2})),
      text(PolynomialDecay({.decay_steps = 2, .end_rate = 0.5})),
      text(PolynomialDecay({.decay_steps = 2, .power = 2})),
      text(PolynomialDecay({.decay_steps = 2, .cycle = true})),
      text(OneCycle({.total_steps = 4})),
      text(OneCycle({.total_steps = 5})),
      text(OneCycle({.total_steps = 4, .warmup_share = 0.5})),
      text(OneCycle({.total_steps = 4, .start_divisor = 2})),
      text(OneCycle({.total_steps = 4, .final_divisor = 2})),
  };
  EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size());
}

}  // namespace
}  // namespace ronde::test
