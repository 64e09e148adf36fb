// fill and copy of the oracle backend.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::u8, DType::i32, DType::i64};

TEST(CpuMemory, FillsAnyDType) {
  CpuBackend cpu;
  for (const DType dtype : kAll) {
    const Tensor x = Tensor::zeros({2, 3}, {.dtype = dtype, .backend = &cpu});
    x.slice(1, 1, 2).fill(3);
    EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{0, 3, 0, 0, 3, 0})) << to_string(dtype);
  }
}

// Zeros are written as bytes where all lie together: by several threads, and no further.
TEST(CpuMemory, ZeroesOnlyWhatItIsGiven) {
  CpuBackend cpu;
  cpu.threads().resize(3);
  for (const DType dtype : kAll) {
    const std::int64_t n = (std::int64_t{1} << 20) + 3;
    const Tensor x = Tensor::full({n + 2}, 1.0, {.dtype = dtype, .backend = &cpu});
    x.slice(0, 1, n + 1).fill(0.0);
    const std::vector<double> values = x.to_vector<double>();
    EXPECT_EQ(values.front() + values.back(), 2.0) << to_string(dtype);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), n) << to_string(dtype);
  }
  const Tensor minus = Tensor::full({3}, -0.0, {.backend = &cpu});
  for (const float value : minus.to_vector<float>()) EXPECT_TRUE(std::signbit(value));
  const Tensor columns = Tensor::full({2, 3}, 1.0, {.backend = &cpu});
  columns.permute({1, 0}).slice(0, 0, 2).fill(0.0);
  EXPECT_EQ(columns.to_vector<double>(), (std::vector<double>{0, 0, 1, 0, 0, 1}));
}

TEST(CpuMemory, CopiesBetweenAllPairsOfDTypes) {
  CpuBackend cpu;
  const std::vector<double> values{0, 1, 2, 100, 200, 255};  // in the range of all of them
  for (const DType from : kAll)
    for (const DType to : kAll) {
      const Tensor x = test::tensor(cpu, {2, 3}, values, from);
      const Tensor y = test::unwritten(cpu, {2, 3}, to);
      cpu.copy(y, x);
      EXPECT_EQ(y.to_vector<double>(), values) << to_string(from) << " to " << to_string(to);
    }
}

TEST(CpuMemory, TruncatesAndSaturates) {
  CpuBackend cpu;
  const Tensor x = test::tensor(cpu, {6}, {-1.7, 1.7, 300.0, -1e30, 1e30, std::nan("")});
  EXPECT_EQ(x.to_vector<std::int32_t>(), (std::vector<std::int32_t>{-1, 1, 300, INT32_MIN, INT32_MAX, 0}));
  EXPECT_EQ(x.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 255, 0, 255, 0}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{-1, 1, 300, INT64_MIN, INT64_MAX, 0}));
}

TEST(CpuMemory, LargeIntegersSurvive) {
  CpuBackend cpu;
  const std::int64_t large = (std::int64_t{1} << 62) + 1;  // no double holds it
  const Tensor x = Tensor::from<std::int64_t>({1, 2}, {large, -large}, &cpu);
  EXPECT_EQ(x.permute({1, 0}).contiguous().to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{large, -large}));
}

TEST(CpuMemory, CopiesThroughTransposedAndBroadcastViews) {
  CpuBackend cpu;
  const Tensor x = test::random_tensor(cpu, {3, 4, 5}, DType::f32, 1);
  const Tensor y = test::unwritten(cpu, {5, 2, 4, 3}, DType::f64);
  cpu.copy(y, x.permute({2, 1, 0}).reshape({5, 1, 4, 3}).broadcast_to({5, 2, 4, 3}));
  const auto in = x.to_vector<double>(), out = y.to_vector<double>();
  for (int i = 0; i < 5; ++i)
    for (int twice = 0; twice < 2; ++twice)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 3; ++k)
          ASSERT_EQ(out[static_cast<std::size_t>(((i * 2 + twice) * 4 + j) * 3 + k)],
                    in[static_cast<std::size_t>((k * 4 + j) * 5 + i)]);
}

}  // namespace
}  // namespace ronde
