#include "denormals/flushed_denormals.h"

#include <atomic>
#include <bit>
#include <cfenv>
#include <limits>
#include <stdexcept>
#include <string>

#include <ronde/core/thread_pool.h>

#include "core/testing.h"

namespace ronde {
namespace {

template <class T>
T times(T a, T b) {
  const volatile T left = a, right = b;  // no compiler multiplies these
  return left * right;
}

// By its bits: a comparison takes what is flushed for 0.
bool is_zero(float x) {
  return std::bit_cast<std::uint32_t>(x) == 0;
}
bool is_zero(double x) {
  return std::bit_cast<std::uint64_t>(x) == 0;
}

// Of products with a denormal operand or result.
bool is_flushed() {
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  return is_zero(times(Float::denorm_min(), 1e30f)) && is_zero(times(Float::min(), 0.5f)) &&
         is_zero(times(Double::denorm_min(), 1e200)) && is_zero(times(Double::min(), 0.5));
}
bool is_computed() {
  return times(std::numeric_limits<float>::denorm_min(), 4.0f) > 0 &&
         times(std::numeric_limits<double>::min(), 0.5) > 0;
}

class FlushedDenormalsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(RONDE_PROCESSOR) == "other") GTEST_SKIP() << "what this processor can do is not known";
    ASSERT_TRUE(is_computed());
  }
  void TearDown() override { EXPECT_TRUE(IsSkipped() || is_computed()); }
};

TEST_F(FlushedDenormalsTest, AsLongAsOneLives) {
  {
    const FlushedDenormals outer;
    EXPECT_TRUE(is_flushed());
    { const FlushedDenormals inner; }
    EXPECT_TRUE(is_flushed());
    EXPECT_EQ(times(std::numeric_limits<float>::min(), 2.0f), 2 * std::numeric_limits<float>::min());
  }
  EXPECT_TRUE(is_computed());
}

TEST_F(FlushedDenormalsTest, InAllChunksOfALoopAndInNoOtherPlace) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::atomic<int> flushed = 0;
    pool.parallel_for(5, 1, [&](std::int64_t begin, std::int64_t end) {
      pool.parallel_for(2, 1, [&](std::int64_t, std::int64_t) { EXPECT_TRUE(is_flushed()); });
      if (is_flushed()) flushed += static_cast<int>(end - begin);
    });
    EXPECT_EQ(flushed, 5) << threads << " threads";
    EXPECT_TRUE(is_computed());
    const auto fail = [](std::int64_t, std::int64_t) { throw std::runtime_error("a chunk"); };
    EXPECT_THROW(pool.parallel_for(5, 1, fail), std::runtime_error);
    EXPECT_TRUE(is_computed());
  }
}

TEST_F(FlushedDenormalsTest, KeepWhatElseArithmeticHasSaid) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FlushedDenormals flushed;
    times(1e30f, 1e30f);
  }
  EXPECT_TRUE(std::fetestexcept(FE_OVERFLOW));
  EXPECT_FALSE(std::fetestexcept(FE_DIVBYZERO));
}

TEST_F(FlushedDenormalsTest, InKernels) {
  for (Backend* backend : backends()) {
    const Tensor x = Tensor::from<float>({1000}, std::vector<float>(1000, 1e-40f), backend);
    EXPECT_GT(x.to_vector<float>().front(), 0.0f) << "tensors hold what they are given";
    backend->unary(UnaryOp::affine, x, x, {.alpha = 4.0});
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 0.0f)) << backend->name();
  }
}

}  // namespace
}  // namespace ronde
