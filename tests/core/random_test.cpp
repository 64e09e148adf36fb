// The distributions of random.h, at fixed seeds against the exact ones, and what its numbers depend on.
#include <ronde/core/random.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>

#include "core/testing.h"
#include "support/message_of.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kMany = 1 << 18;
// A mean of so many numbers deviates by that of one divided by sqrt(n). Four times as much is allowed.
constexpr double kAllowed = 4.0 / 512;
// Of sqrt(n) times the distance of Kolmogorov and Smirnov: random numbers have more once in 600 times, and
// six are looked at.
constexpr double kMostDistance = 1.88;

using Numbers = std::vector<float>;

Numbers normal(const Shape& shape, const RandomOptions& options = {}) {
  return random_normal(shape, options).to_vector<float>();
}
Numbers uniform(const Shape& shape, const RandomOptions& options = {}) {
  return random_uniform(shape, options).to_vector<float>();
}

/// The mean of f of each number.
template <class F>
double mean_of(const Numbers& numbers, const F& f) {
  double sum = 0.0;
  for (const float x : numbers) sum += f(static_cast<double>(x));
  return sum / static_cast<double>(numbers.size());
}

/// The mean of a number's product with the one `lag` further on.
double correlation(const Numbers& a, const Numbers& b, std::size_t lag = 0) {
  double sum = 0.0;
  for (std::size_t i = 0; i + lag < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i + lag];
  return sum / static_cast<double>(a.size() - lag);
}

/// Kolmogorov's and Smirnov's: the largest distance to the distribution function, times sqrt(n).
template <class F>
double distance(Numbers numbers, const F& distribution) {
  std::sort(numbers.begin(), numbers.end());
  const auto n = static_cast<double>(numbers.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double exact = distribution(static_cast<double>(numbers[i]));
    largest = std::max({largest, exact - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - exact});
  }
  return largest * std::sqrt(n);
}

double normal_distribution(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

TEST(RandomNormal, HasTheMomentsOfTheDistribution) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Numbers x = normal({kMany}, {.seed = seed});
    EXPECT_NEAR(mean_of(x, [](double v) { return v; }), 0.0, kAllowed);
    EXPECT_NEAR(mean_of(x, [](double v) { return v * v; }), 1.0, kAllowed * std::sqrt(2.0));
    EXPECT_NEAR(mean_of(x, [](double v) { return v * v * v; }), 0.0, kAllowed * std::sqrt(15.0));
    EXPECT_NEAR(mean_of(x, [](double v) { return v * v * v * v; }), 3.0, kAllowed * std::sqrt(96.0));
  }
}

TEST(RandomNormal, HasTheDistributionFunctionAndItsTails) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Numbers x = normal({kMany}, {.seed = seed});
    EXPECT_LT(distance(x, normal_distribution), kMostDistance) << seed;
    for (const double bound : {1.0, 2.0, 3.0, 4.0}) {
      const double expected = kMany * normal_distribution(-bound);  // on each side
      const auto above = std::count_if(x.begin(), x.end(), [=](float v) { return v > bound; });
      const auto below = std::count_if(x.begin(), x.end(), [=](float v) { return v < -bound; });
      EXPECT_NEAR(static_cast<double>(above), expected, 4.0 * std::sqrt(expected)) << bound;
      EXPECT_NEAR(static_cast<double>(below), expected, 4.0 * std::sqrt(expected)) << bound;
    }
    const auto [least, most] = std::minmax_element(x.begin(), x.end());
    EXPECT_LT(*least, -4.0f);
    EXPECT_GT(*most, 4.0f);
    EXPECT_LT(std::max(-*least, *most), 6.67f);
  }
}

// By the mathematical library in double, from the words of philox.h.
TEST(RandomNormal, IsBoxAndMullersOfPhilox) {
  const Numbers x = normal({5001}, {.seed = 7, .name = "z", .step = 3});
  const std::uint64_t key = random_key(random_key(7, hash_name("z")), 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Philox4 words = sample_bits(key, 0, 0xFFFFFFFFu, i / 4);
    const std::uint32_t of_radius = words[i % 4 / 2 * 2], of_angle = words[i % 4 / 2 * 2 + 1];
    const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(of_radius >> 1) + 0.5) * 0x1p-31));
    const double turned = static_cast<double>(of_angle >> 6) + 0.5;  // 26 bits, of which the first two say
    const double angle = (turned * 0x1p-26 - 0.125) * 2.0 * std::numbers::pi;  // the quarter
    ASSERT_NEAR(x[i], radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)), 2e-6) << i;
  }
}

TEST(RandomUniform, HasTheMomentsAndTheDistributionFunction) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Numbers x = uniform({kMany}, {.seed = seed});
    EXPECT_NEAR(mean_of(x, [](double v) { return v; }), 0.5, kAllowed * std::sqrt(1.0 / 12));
    EXPECT_NEAR(mean_of(x, [](double v) { return v * v; }), 1.0 / 3, kAllowed * std::sqrt(4.0 / 45));
    EXPECT_LT(distance(x, [](double v) { return v; }), kMostDistance) << seed;
    const auto [least, most] = std::minmax_element(x.begin(), x.end());
    EXPECT_GE(*least, 0.0f);
    EXPECT_LT(*most, 1.0f);
  }
  const Numbers x = uniform({6}, {.seed = 5});
  const std::uint64_t key = random_key(random_key(5, hash_name("")), 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(x[i], uniform_float(sample_bits(key, 0, 0xFFFFFFFFu, i / 4)[i % 4]));
}

TEST(Random, NeighboursSeedsNamesAndStepsAreIndependent) {
  const Numbers x = normal({kMany}, {.seed = 1, .name = "a", .step = 1});
  for (const std::size_t lag : {1, 2, 3, 4, 128, 129})
    EXPECT_NEAR(correlation(x, x, lag), 0.0, kAllowed) << lag;
  for (const RandomOptions& other :
       {RandomOptions{.seed = 2, .name = "a", .step = 1}, RandomOptions{.seed = 1, .name = "b", .step = 1},
        RandomOptions{.seed = 1, .name = "a", .step = 2}}) {
    const Numbers y = normal({kMany}, other);
    EXPECT_NEAR(correlation(x, y), 0.0, kAllowed);
    EXPECT_NEAR(mean_of(y, [](double v) { return v * v; }), 1.0, kAllowed * std::sqrt(2.0));
  }
}

TEST(Random, TheSameBitsOnAnyNumberOfThreads) {
  const int before = thread_count();
  const RandomOptions options{.seed = 3, .step = 9};
  set_thread_count(1);
  const Numbers x = normal({3, 70001}, options), u = uniform({3, 70001}, options);
  for (const int threads : {2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(normal({3, 70001}, options), x) << threads;
    EXPECT_EQ(uniform({3, 70001}, options), u) << threads;
  }
  set_thread_count(before);
  // Neither does a number depend on how many there are.
  const Numbers fewer = normal({129}, options);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), x.begin()));
}

TEST(Random, OfASampleFollowsItsKeysWhereverItIs) {
  const Tensor keys = Tensor::from<std::int64_t>({3, 2}, {5, 0, 5, 1, std::int64_t{1} << 40, 1});
  const Tensor all = random_normal({3, 10, 20}, {.seed = 1, .sample_keys = keys});
  const Tensor last = random_normal({1, 10, 20}, {.seed = 1, .sample_keys = keys.slice(0, 2, 3)});
  EXPECT_EQ(last.to_vector<float>(), all.slice(0, 2, 3).to_vector<float>());
  const Numbers x = all.to_vector<float>();
  for (std::size_t i = 0; i < 200; ++i) EXPECT_TRUE(x[i] != x[200 + i] && x[200 + i] != x[400 + i]) << i;
  const Tensor later = random_normal({3, 10, 20}, {.seed = 1, .step = 1, .sample_keys = keys});
  EXPECT_NE(later.to_vector<float>(), x) << "a step of its own";
  EXPECT_EQ(random_normal({0, 4}, {.sample_keys = Tensor::zeros({0, 2}, {.dtype = DType::i64})}).shape(),
            (Shape{0, 4}));
}

TEST(Random, OfOtherTypesAndBackendsIsTheSame) {
  const Numbers x = normal({1000}, {.seed = 4});
  const std::vector<double> exact(x.begin(), x.end());
  EXPECT_EQ(random_normal({1000}, {.seed = 4, .dtype = DType::f64}).to_vector<double>(), exact);
  const Tensor rounded = random_normal({1000}, {.seed = 4, .dtype = DType::bf16});
  EXPECT_EQ(rounded.to_vector<float>(), Tensor::from<float>({1000}, x).to(DType::bf16).to_vector<float>());
  for (Backend* backend : backends()) {
    const Tensor there = random_normal({1000}, {.seed = 4, .backend = backend});
    EXPECT_EQ(&there.backend(), backend);
    EXPECT_EQ(there.to_vector<float>(), x);
  }
}

TEST(Random, SaysWhatDoesNotFit) {
  EXPECT_EQ(message_of([] { random_normal({2}, {.dtype = DType::i32}); }),
            "[random] expects a floating dtype, got i32");
  EXPECT_EQ(message_of([] {
              random_uniform({3, 4}, {.sample_keys = Tensor::zeros({2, 2}, {.dtype = DType::i64})});
            }),
            "[random] sample keys of (3, 4) must be i64 (n, 2), n being its first extent, got i64 (2, 2)");
}

}  // namespace
}  // namespace ronde::test
