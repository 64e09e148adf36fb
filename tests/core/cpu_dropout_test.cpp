#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

// Keys of `n` consecutive samples from `first` on.
Tensor keys(Backend& backend, std::int64_t first, std::int64_t n, std::int64_t epoch = 0) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < n; ++i) values.insert(values.end(), {first + i, epoch});
  return Tensor::from<std::int64_t>({n, 2}, values, &backend);
}

Values drop(Backend& backend, const Tensor& x, const Tensor& sample_keys, const DropoutParams& params) {
  const Tensor out = unwritten(backend, x.shape(), x.dtype());
  backend.dropout(out, x, sample_keys, params);
  return out.to_vector<double>();
}

TEST(CpuDropout, FollowsTheSharedDefinition) {
  CpuBackend cpu;
  const DropoutParams params{.rate = 0.3, .seed = 99, .op = hash_name("dropout")};
  for_each_real([&](DType dtype) {
    const Tensor x = Tensor::full({2, 3, 2}, 1, {.dtype = dtype, .backend = &cpu});
    const Values got = drop(cpu, x, keys(cpu, 7, 2, 5), params);
    for (std::uint32_t sample = 0; sample < 2; ++sample)
      for (std::uint32_t e = 0; e < 6; ++e) {
        const Philox4 bits = philox(random_key(99, hash_name("dropout")), {e / 4, 7 + sample, 0, 5});
        const bool kept = static_cast<float>(bits[e % 4] >> 8) / 16777216.0f >= 0.3f;
        EXPECT_NEAR(got[sample * 6 + e], kept ? 1 / 0.7 : 0, tolerance(dtype));
      }
  });
}

TEST(CpuDropout, DropsItsRateAndKeepsTheMean) {
  CpuBackend cpu;
  const Tensor x = Tensor::full({100, 400}, 1, {.backend = &cpu});
  for (const double rate : {0.1, 0.25, 0.5, 0.9}) {
    double sum = 0, dropped = 0;
    for (const double y : drop(cpu, x, keys(cpu, 0, 100), {.rate = rate, .seed = 1, .op = 2})) {
      sum += y;
      dropped += y == 0;
    }
    const double deviation = std::sqrt(rate * (1 - rate) / 40000);
    EXPECT_NEAR(dropped / 40000, rate, 4 * deviation);
    EXPECT_NEAR(sum / 40000, 1, 4 * deviation / (1 - rate));
  }
}

TEST(CpuDropout, TheMaskBelongsToTheSampleNotToItsPlace) {
  CpuBackend cpu;
  const DropoutParams params{.rate = 0.5, .seed = 1, .op = 2};
  const Tensor x = Tensor::full({6, 33}, 1, {.backend = &cpu});
  const Values all = drop(cpu, x, keys(cpu, 10, 6), params);
  const Values tail = drop(cpu, x.slice(0, 0, 2), keys(cpu, 14, 2), params);
  EXPECT_EQ(tail, Values(all.end() - 66, all.end()));
}

TEST(CpuDropout, SeedsOperationsEpochsAndSamplesDiffer) {
  CpuBackend cpu;
  const Tensor x = Tensor::full({1, 256}, 1, {.backend = &cpu});
  const Values base = drop(cpu, x, keys(cpu, 3, 1, 1), {0.5, 1, 2});
  EXPECT_EQ(base, drop(cpu, x, keys(cpu, 3, 1, 1), {0.5, 1, 2}));
  EXPECT_NE(base, drop(cpu, x, keys(cpu, 3, 1, 1), {0.5, 9, 2}));
  EXPECT_NE(base, drop(cpu, x, keys(cpu, 3, 1, 1), {0.5, 1, 9}));
  EXPECT_NE(base, drop(cpu, x, keys(cpu, 3, 1, 2), {0.5, 1, 2}));
  EXPECT_NE(base, drop(cpu, x, keys(cpu, 4, 1, 1), {0.5, 1, 2}));
}

TEST(CpuDropout, TheEdgesOfTheRate) {
  CpuBackend cpu;
  const Tensor x = random_tensor(cpu, {4, 5}, DType::f64, 1);
  EXPECT_EQ(drop(cpu, x, keys(cpu, 0, 4), {.rate = 0}), x.to_vector<double>());
  EXPECT_EQ(drop(cpu, x, keys(cpu, 0, 4), {.rate = 1}), Values(20, 0.0));
  EXPECT_TRUE(drop(cpu, x.slice(0, 0, 0), keys(cpu, 0, 0), {}).empty());
}

TEST(CpuDropout, ADroppedNanIsGone) {
  CpuBackend cpu;
  const Tensor x = Tensor::full({1, 64}, std::nan(""), {.backend = &cpu});
  int zeros = 0;
  for (const double y : drop(cpu, x, keys(cpu, 0, 1), {})) zeros += y == 0;
  EXPECT_GT(zeros, 0);
}

}  // namespace
}  // namespace ronde::test
