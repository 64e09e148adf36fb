#include <algorithm>
#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/sequential.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

struct Statistics {
  double mean = 0, variance = 0, smallest = 0, largest = 0;
};

Statistics statistics_of(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  const auto n = static_cast<double>(values.size());
  Statistics s;
  for (const double value : values) s.mean += value / n;
  for (const double value : values) s.variance += (value - s.mean) * (value - s.mean) / n;
  s.smallest = *std::min_element(values.begin(), values.end());
  s.largest = *std::max_element(values.begin(), values.end());
  return s;
}

/// 40,000 draws: relative errors of the variance stay below 4 %, means below 4 standard errors.
void expect_distribution(const Initializer& initializer, double mean, double variance, double bound) {
  const Statistics s = statistics_of(initializer.make({400, 100}, "layer/kernel", in_f64()));
  EXPECT_NEAR(s.mean, mean, 4 * std::sqrt(variance / 40000));
  EXPECT_NEAR(s.variance, variance, 0.04 * variance);
  EXPECT_LE(s.largest, mean + bound);
  EXPECT_GE(s.smallest, mean - bound);
  if (std::isfinite(bound)) {
    EXPECT_GE(s.largest, mean + 0.99 * bound);
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Large weights are made piece by piece.
TEST(Initializer, AnElementDependsOnItsPlaceAlone) {
  const Initializer uniform = Initializer::random_uniform(0.0, 1.0);
  std::vector<double> large = uniform.make({70000}, "layer/kernel", in_f64()).to_vector<double>();
  for (const std::int64_t count : {1, 1000, 16384, 16385, 40000}) {
    const std::vector<double> small = uniform.make({count}, "layer/kernel", in_f64()).to_vector<double>();
    EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin())) << count;
  }
  std::sort(large.begin(), large.end());
  EXPECT_EQ(std::adjacent_find(large.begin(), large.end()), large.end()) << "two elements are equal";
  EXPECT_EQ(uniform.make({0}, "layer/kernel", in_f64()).count(), 0);
}

TEST(Initializer, IsTheSameOnAnyNumberOfThreads) {
  const int before = thread_count();
  const std::uint64_t key = random_key(5, hash_name("layer/kernel"));
  std::vector<double> expected;
  for (std::uint32_t i = 0; i < 70000; ++i)
    expected.push_back(1.0 + 2.0 * normal_double(philox(key, {i, 0, 0, 0})));
  std::vector<std::vector<double>> matrices;
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    const Tensor made = Initializer::random_normal(1.0, 2.0).make({70000}, "layer/kernel", in_f64(5));
    EXPECT_EQ(made.to_vector<double>(), expected) << threads;
    matrices.push_back(
        Initializer(Initializer::orthogonal).make({200, 300}, "k", in_f64(5)).to_vector<double>());
    EXPECT_EQ(matrices.back(), matrices.front()) << threads;
  }
  set_thread_count(before);
}

TEST(Initializer, UniformOnesHaveKerasLimits) {
  const auto expect_limit = [](Initializer::Kind kind, double limit) {
    SCOPED_TRACE(kind);
    expect_distribution(kind, 0.0, limit * limit / 3, limit);
  };
  expect_limit(Initializer::glorot_uniform, std::sqrt(6.0 / 500));
  expect_limit(Initializer::he_uniform, std::sqrt(6.0 / 400));
  expect_limit(Initializer::lecun_uniform, std::sqrt(3.0 / 400));
  expect_distribution(Initializer::random_uniform(1.0, 3.0), 2.0, 1.0 / 3, 1.0);
}

TEST(Initializer, NormalOnesAreCutAtTwoDeviationsOfTheUncut) {
  const auto expect_variance = [](Initializer::Kind kind, double variance) {
    SCOPED_TRACE(kind);
    expect_distribution(kind, 0.0, variance, 2.0 * std::sqrt(variance) / 0.87962566103423978);
  };
  expect_variance(Initializer::glorot_normal, 2.0 / 500);
  expect_variance(Initializer::he_normal, 2.0 / 400);
  expect_variance(Initializer::lecun_normal, 1.0 / 400);
}

TEST(Initializer, PlainNormalOnes) {
  expect_distribution(Initializer::random_normal(0.5, 0.2), 0.5, 0.04, kInfinity);
  // The variance of a standard normal cut at two deviations is 0.7737.
  expect_distribution(Initializer::truncated_normal(0.5, 0.2), 0.5, 0.04 * 0.773741, 0.4);
  expect_distribution(Initializer::variance_scaling({.scale = 3.0,
                                                     .mode = Initializer::FanMode::fan_out,
                                                     .distribution = Initializer::Distribution::normal}),
                      0.0, 3.0 / 100, kInfinity);
}

/// The products of all rows with each other, minus the square of the gain where it is a row with itself.
double largest_product_of_rows(const Tensor& matrix, double gain) {
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  const std::vector<double> values = matrix.to_vector<double>();
  double largest = 0.0;
  for (std::int64_t a = 0; a < rows; ++a)
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = a == b ? -gain * gain : 0.0;
      for (std::int64_t i = 0; i < columns; ++i)
        sum += values[static_cast<std::size_t>(a * columns + i)] *
               values[static_cast<std::size_t>(b * columns + i)];
      largest = std::max(largest, std::abs(sum));
    }
  return largest;
}

// Keras' shapes: the last axis of a matrix, here of a convolution (3, 1, 2, 5) too.
TEST(Initializer, OrthogonalOnesHaveOrthogonalRowsOrColumns) {
  const auto make = [](const Shape& shape, const Initializer& initializer, WeightLayout layout) {
    return initializer.make(shape, "layer/kernel", in_f64(), layout);
  };
  const Initializer plain = Initializer::orthogonal;
  EXPECT_LT(largest_product_of_rows(make({16, 64}, plain, WeightLayout::plain), 1.0), 1e-13);
  EXPECT_LT(largest_product_of_rows(make({64, 16}, plain, WeightLayout::plain).permute({1, 0}), 1.0), 1e-13);
  EXPECT_LT(
      largest_product_of_rows(make({40, 40}, Initializer::scaled_orthogonal(3.0), WeightLayout::plain), 3.0),
      1e-11);
  EXPECT_LT(largest_product_of_rows(make({5, 3, 1, 2}, plain, WeightLayout::conv).reshape({5, 6}), 1.0),
            1e-13);
  EXPECT_EQ(make({0, 3}, plain, WeightLayout::plain).count(), 0);
  // Columns of such a matrix point anywhere: as many numbers of each sign, and mean squares of 1 / 400.
  const Statistics s = statistics_of(make({400, 100}, plain, WeightLayout::plain));
  EXPECT_NEAR(s.mean, 0.0, 4 * 0.05 / 200);
  EXPECT_NEAR(s.variance, 1.0 / 400, 1e-5);
  EXPECT_EQ(message_of([&] { make({7}, plain, WeightLayout::plain); }),
            "[initializer] orthogonal is for weights of two axes and more, layer/kernel is (7,)");
}

TEST(Initializer, OrthogonalOnesAreDescribedAsKerasDoes) {
  const ConfigDict described = Initializer::scaled_orthogonal(2.0).config();
  EXPECT_EQ(described[0].second.as_string(), "Orthogonal");
  EXPECT_EQ(described[1].second.at("gain").as_double(), 2.0);
  const Tensor made = Initializer::from_config(described).make({2, 2}, "a", in_f64());
  EXPECT_LT(largest_product_of_rows(made, 2.0), 1e-13);
  EXPECT_LT(largest_product_of_rows(Initializer::from_config("orthogonal").make({2, 2}, "a", in_f64()), 1.0),
            1e-13);
}

TEST(Initializer, NothingIsDrawnForWeightsOfAFile) {
  const BuildOptions options{.dtype = DType::f64, .draws = false};
  const auto sum = [&](const Initializer& initializer) {
    double total = 0.0;
    for (const double value : initializer.make({4, 5}, "a", options).to_vector<double>()) total += value;
    return total;
  };
  EXPECT_EQ(sum(Initializer::glorot_uniform), 0.0);
  EXPECT_EQ(sum(Initializer::he_normal), 0.0);
  EXPECT_EQ(sum(Initializer::orthogonal), 0.0);
  EXPECT_EQ(sum(Initializer::ones), 20.0);
}

TEST(Initializer, ConstantOnes) {
  const auto value = [](const Initializer& initializer) {
    return initializer.make({3}, "b", in_f64()).to_vector<double>();
  };
  EXPECT_EQ(value(Initializer::zeros), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(value(Initializer::ones), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(value(Initializer::constant(-2.5)), (std::vector<double>{-2.5, -2.5, -2.5}));
  EXPECT_THROW(Initializer{Initializer::random_normal_kind}, Error);
}

TEST(Initializer, FansComeFromKerasShapes) {
  const auto largest = [](Module&& layer, const Shape& input) {
    layer.build(input, in_f64());
    return statistics_of(layer.parameters()[0].variable.value()).largest;
  };
  // Keras' shapes: (3, 3, 16, 64), (3, 3, 8, 64) for two groups, and (5, 5, 200, 2) for depthwise.
  const auto limit = [](double in, double out) { return std::sqrt(6.0 / (in + out)); };
  EXPECT_NEAR(largest(Conv2D({.filters = 64}), {8, 8, 16}), limit(9 * 16, 9 * 64), 1e-4);
  EXPECT_NEAR(largest(Conv2D({.filters = 64, .groups = 2}), {8, 8, 16}), limit(9 * 8, 9 * 64), 1e-4);
  EXPECT_NEAR(largest(DepthwiseConv2D({.kernel = {5, 5}, .depth_multiplier = 2}), {8, 8, 200}),
              limit(25 * 200, 25 * 2), 1e-4);
}

TEST(Initializer, NumbersDependOnSeedNameAndElementAlone) {
  const Initializer initializer = Initializer::he_normal;
  const auto draw = [&](const std::string& name, std::uint64_t seed, DType dtype) {
    return initializer.make({4, 5}, name, {.seed = seed, .dtype = dtype}).to_vector<double>();
  };
  const std::vector<double> values = draw("a/kernel", 1, DType::f64);
  EXPECT_EQ(draw("a/kernel", 1, DType::f64), values);
  EXPECT_NE(draw("b/kernel", 1, DType::f64), values);
  EXPECT_NE(draw("a/kernel", 2, DType::f64), values);
  const std::vector<double> floats = draw("a/kernel", 1, DType::f32);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(floats[i], static_cast<float>(values[i]));
}

TEST(Initializer, OrderOfLayersDoesNotMatter) {
  Sequential one(Dense({.units = 3, .name = "x"}), Dense({.units = 3, .name = "y"}));
  Sequential other(Dense({.units = 3, .name = "y"}), Dense({.units = 3, .name = "x"}));
  one.build({3}, in_f64());
  other.build({3}, in_f64());
  for (const char* name : {"x/kernel", "y/kernel"})
    EXPECT_EQ(find_parameter(one, name).variable.value().to_vector<double>(),
              find_parameter(other, name).variable.value().to_vector<double>());
}

TEST(Initializer, IdentityPassesChannelsOn) {
  Sequential net(Conv2D({.filters = 5,
                         .padding = Padding::same,
                         .use_bias = false,
                         .kernel_initializer = Initializer::identity(Initializer::he_uniform)}));
  net.build({4, 4, 3}, in_f64());
  const Tensor x = Initializer(Initializer::he_normal).make({2, 4, 4, 3}, "x", in_f64());
  const Tensor y = net(x).value();
  EXPECT_EQ(y.slice(3, 0, 3).contiguous().to_vector<double>(), x.to_vector<double>());
  // The other filters are what they would have been.
  const Tensor rest =
      Initializer(Initializer::he_uniform).make({5, 3, 3, 3}, "conv2d/kernel", in_f64(), WeightLayout::conv);
  EXPECT_EQ(net.parameters()[0].variable.value().slice(0, 3, 5).to_vector<double>(),
            rest.slice(0, 3, 5).to_vector<double>());
  EXPECT_THROW(Initializer::identity(Initializer::zeros).make({3, 3}, "dense/kernel", in_f64()), UsageError);
}

}  // namespace
}  // namespace ronde::test
