// Batch normalisation over ranks is that of one rank with the whole batch.
#include <ronde/nn/batch_normalization.h>

#include <cmath>

#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kBatchRows = 23, kChannels = 3;

struct Setting {
  DType dtype = DType::f64;
  Backend* backend = &ronde::backend("cpu");
  bool image = false;
  bool adds = false;  // and a relu behind that
  BatchNormalizationOptions options = {.synchronized = true};
  double tolerance = 1e-13;
};

/// Rows begin ... end - 1 of an endless set whose mean and spread drift, so that no two shards are alike.
Tensor rows(const Setting& setting, std::int64_t begin, std::int64_t end, double frequency) {
  const std::int64_t width = (setting.image ? 4 : 1) * kChannels;
  std::vector<double> values;
  for (std::int64_t i = begin * width; i < end * width; ++i)
    values.push_back(std::sin(frequency * static_cast<double>(i)) * (1.0 + 0.01 * static_cast<double>(i)) +
                     0.02 * static_cast<double>(i));
  const Shape shape = setting.image ? Shape{end - begin, 2, 2, kChannels} : Shape{end - begin, kChannels};
  return Tensor::from<double>(shape, values).to(setting.dtype).to(*setting.backend);
}

struct Outcome {
  std::vector<double> y, grad_x;     // of a rank's rows
  std::vector<double> grad_addend;
  std::vector<double> grad_weights;  // gamma's and beta's, a sum over its rows
  std::vector<double> moving;
};

Outcome two_steps(const Setting& setting, std::int64_t begin, std::int64_t end, const SumOverRanks& sum) {
  BatchNormalization layer(setting.options);
  const Shape input = setting.image ? Shape{2, 2, kChannels} : Shape{kChannels};
  layer.build(input, {.dtype = setting.dtype, .backend = setting.backend});
  Outcome outcome;
  for (const double frequency : {0.7, 1.9}) {
    const Variable x = Variable::parameter(rows(setting, begin, end, frequency));
    const Context context{.training = true, .sum_over_ranks = sum};
    const Variable addend = Variable::parameter(rows(setting, begin, end, 1.1));
    const Variable y =
        setting.adds ? layer.forward_with({UnaryOp::relu}, x, context, addend) : layer(x, context);
    y.backward(rows(setting, begin, end, 0.3));
    outcome.y = y.value().to_vector<double>();
    outcome.grad_x = x.grad().to_vector<double>();
    if (setting.adds) outcome.grad_addend = addend.grad().to_vector<double>();
  }
  for (const Parameter& parameter : layer.parameters()) {
    std::vector<double>& to = parameter.trainable ? outcome.grad_weights : outcome.moving;
    const Tensor from = parameter.trainable ? parameter.variable.grad() : parameter.variable.value();
    const std::vector<double> values = from.to_vector<double>();
    to.insert(to.end(), values.begin(), values.end());
  }
  return outcome;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, std::size_t offset,
                 double tolerance, const char* what) {
  double largest = 1.0;
  for (const double v : expected) largest = std::max(largest, std::abs(v));
  ASSERT_LE(offset + actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[offset + i], tolerance * largest) << what << ", element " << i;
}

/// `ends`: where each rank's rows end; they begin where those of the rank before end.
void expect_same_as_alone(const std::vector<std::int64_t>& ends, const Setting& setting) {
  const Outcome whole = two_steps(setting, 0, kBatchRows, {});
  ASSERT_EQ(ends.back(), kBatchRows);
  run_ranks(static_cast<int>(ends.size()), [&](Communicator& world) {
    const auto r = static_cast<std::size_t>(world.rank());
    const std::int64_t begin = r == 0 ? 0 : ends[r - 1];
    int sums = 0;
    const Outcome own = two_steps(setting, begin, ends[r], [&](const Tensor& values) {
      ++sums;
      world.allreduce(values).wait();
    });
    EXPECT_EQ(sums, 4) << "one forward and one backward in each step";
    const auto offset = static_cast<std::size_t>(begin) * whole.y.size() / kBatchRows;
    expect_near(own.y, whole.y, offset, setting.tolerance, "y");
    expect_near(own.grad_x, whole.grad_x, offset, setting.tolerance, "grad_x");
    expect_near(own.grad_addend, whole.grad_addend, setting.adds ? offset : 0, setting.tolerance,
                "grad_addend");
    expect_near(own.moving, whole.moving, 0, setting.tolerance, "moving statistics");
    std::vector<double> sum = own.grad_weights;
    allreduce_values(world, sum);
    expect_near(sum, whole.grad_weights, 0, setting.tolerance, "gradients of the weights");
  });
}

TEST(SynchronizedBatchNorm, IsThatOfTheWholeBatch) {
  for (const bool image : {false, true}) {
    const Setting setting{.image = image};
    expect_same_as_alone({23}, setting);
    expect_same_as_alone({11, 23}, setting);
    expect_same_as_alone({1, 20, 23}, setting);
    expect_same_as_alone({3, 6, 9, 12, 15, 18, 21, 23}, setting);
  }
}

TEST(SynchronizedBatchNorm, WithAnAddend) {
  expect_same_as_alone({11, 23}, {.adds = true});
  expect_same_as_alone({0, 7, 23}, {.image = true, .adds = true});
}

TEST(SynchronizedBatchNorm, WithEmptyShards) {
  expect_same_as_alone({0, 23}, {});
  expect_same_as_alone({0, 7, 7, 23, 23}, {.image = true});
}

TEST(SynchronizedBatchNorm, OnEveryBackendInSinglePrecision) {
  for (Backend* backend : backends()) {
    const Setting setting{.dtype = DType::f32, .backend = backend, .image = true, .tolerance = 2e-6};
    expect_same_as_alone({5, 5, 12, 23}, setting);
  }
}

TEST(SynchronizedBatchNorm, WithoutGammaAndBeta) {
  expect_same_as_alone({9, 23}, {.options = {.center = false, .synchronized = true}});
  expect_same_as_alone({9, 23}, {.options = {.scale = false, .synchronized = true}});
  expect_same_as_alone({9, 23}, {.options = {.center = false, .scale = false, .synchronized = true}});
}

TEST(SynchronizedBatchNorm, WithTheVarianceOfKeras2) {
  expect_same_as_alone({9, 23},
                       {.options = {.synchronized = true, .moving_variance = MovingVariance::unbiased}});
}

TEST(SynchronizedBatchNorm, NoRowsAnywhereChangeNothing) {
  run_ranks(2, [](Communicator& world) {
    const SumOverRanks sum = [&](const Tensor& values) { world.allreduce(values).wait(); };
    EXPECT_EQ(two_steps({}, 0, 0, sum).moving, (std::vector<double>{0, 0, 0, 1, 1, 1}));
  });
}

TEST(SynchronizedBatchNorm, OnlyTrainingIsCollective) {
  BatchNormalization layer({.synchronized = true});
  layer.build({kChannels}, {.dtype = DType::f64, .backend = &backend("cpu")});
  const Context context{.training = false, .sum_over_ranks = [](const Tensor&) { ADD_FAILURE(); }};
  layer(rows({}, 0, 4, 0.7), context);
  EXPECT_TRUE(layer.is_synchronized());
  layer.set_trainable(false);
  EXPECT_FALSE(layer.is_synchronized());
  Context training = context;
  training.training = true;
  layer(rows({}, 0, 4, 0.7), training);
  EXPECT_FALSE(BatchNormalization().is_synchronized());
}

}  // namespace
}  // namespace ronde::test
