#include "backend_ops/compare.h"

#include <ronde/core/philox.h>

namespace ronde::test {
namespace {

struct RowsCase {
  std::int64_t rows, width, count;
};

const RowsCase kRowsCases[] = {{1, 1, 1}, {7, 3, 50}, {3000, 33, 4000}, {40000, 8, 200}, {5, 4, 0}};

Tensor random_indices(const RowsCase& c) {
  std::vector<std::int32_t> indices;
  for (std::int64_t i = 0; i < c.count; ++i)
    indices.push_back(
        static_cast<std::int32_t>(philox(3, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] % c.rows));
  return Tensor::from<std::int32_t>({c.count}, indices, &oracle());
}

TEST(Rows, Gather) {
  for (const RowsCase& c : kRowsCases)
    compare({blank({c.count, c.width})}, {random({c.rows, c.width}, 1), random_indices(c)},
            [](Backend& b, Tensors out, Tensors in) { b.gather_rows(out[0], in[0], in[1]); });
}

TEST(Rows, GatherScaledOfAnyStoredType) {
  const Tensor indices = Tensor::from<std::int32_t>({4}, {2, 0, 2, 1}, &oracle());
  const std::vector<double> stored{0, 1, 7, 100, 200, 255};
  const auto rows = [&](double scale, double offset) {
    std::vector<double> expected;
    for (const std::size_t row : {2, 0, 2, 1})
      for (std::size_t k = 0; k < 2; ++k) expected.push_back(stored[2 * row + k] * scale + offset);
    return expected;
  };
  for (const DType type : {DType::u8, DType::i32, DType::f32, DType::f64})
    for_each_setting([&](Backend& b, DType dtype) {
      SCOPED_TRACE(to_string(type));
      const Tensor table = tensor(oracle(), {3, 2}, stored).to(type).to(b), at = indices.to(b);
      const Tensor out = Tensor::empty({4, 2}, {.dtype = dtype, .backend = &b});
      b.gather_scaled(out, table, at, 0.5, -3.0);
      EXPECT_EQ(out.to_vector<double>(), rows(0.5, -3.0));
      b.gather_scaled(out, table, at, 1.0 / 255, 0.25);
      expect_near_oracle(out, tensor(oracle(), {4, 2}, rows(1.0 / 255, 0.25)), 1e-7);
    });
}

TEST(Rows, ScatterAddAccumulates) {
  for (const RowsCase& c : kRowsCases)
    compare({random({c.rows, c.width}, 1)}, {random({c.count, c.width}, 2), random_indices(c)},
            [](Backend& b, Tensors out, Tensors in) { b.scatter_add_rows(out[0], in[0], in[1]); });
}

// 2^24 + 1 - 2^24 in floats is 0 or 1, as the order says.
TEST(Rows, ScatterAddKeepsTheOrderOfARow) {
  for_each_setting([](Backend& backend, DType) {
    const Tensor table = Tensor::zeros({3000, 8}, {.backend = &backend});
    const Tensor x = Tensor::from<float>({3, 8}, std::vector<float>(24, 1.0f), &backend);
    x.slice(0, 0, 1).fill(16777216.0);
    x.slice(0, 2, 3).fill(-16777216.0);
    backend.scatter_add_rows(table, x, Tensor::from<std::int32_t>({3}, {2900, 2900, 2900}, &backend));
    backend.scatter_add_rows(table, x, Tensor::from<std::int32_t>({3}, {5, 6, 5}, &backend));
    EXPECT_EQ(table.slice(0, 2900, 2901).to_vector<double>(), std::vector<double>(8, 0.0));
    EXPECT_EQ(table.slice(0, 5, 6).to_vector<double>(), std::vector<double>(8, 0.0));
    EXPECT_EQ(table.slice(0, 6, 7).to_vector<double>(), std::vector<double>(8, 1.0));
  });
}

// Most terms are of one row, as of a padded text's; the others are anywhere.
TEST(Rows, ScatterAddGivesTheBitsOfALoop) {
  constexpr std::int64_t kRows = 50, kWidth = 37, kCount = 700;
  std::vector<float> table(kRows * kWidth), x(kCount * kWidth);
  std::vector<std::int32_t> indices;
  const auto number = [](std::size_t i, std::uint32_t key) {
    return static_cast<float>(philox(key, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]) * 1e-5f;
  };
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = number(i, 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = number(i, 2);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::uint32_t drawn = philox(3, {i, 0, 0, 0})[0];
    indices.push_back(drawn % 3 > 0 ? 0 : static_cast<std::int32_t>(drawn / 3 % kRows));
  }
  std::vector<float> expected = table;
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (std::size_t k = 0; k < kWidth; ++k)
      expected[static_cast<std::size_t>(indices[i]) * kWidth + k] += x[i * kWidth + k];
  for_each_setting([&](Backend& backend, DType) {
    const Tensor sums = Tensor::from<float>({kRows, kWidth}, table, &backend);
    backend.scatter_add_rows(sums, Tensor::from<float>({kCount, kWidth}, x, &backend),
                             Tensor::from<std::int32_t>({kCount}, indices, &backend));
    EXPECT_EQ(sums.to_vector<float>(), expected);
  });
}

TEST(Rows, OutsideTheTableIsAnError) {
  for_each_setting([](Backend& backend, DType dtype) {
    const TensorOptions options{.dtype = dtype, .backend = &backend};
    const Tensor table = Tensor::zeros({4, 2}, options), x = Tensor::zeros({1, 2}, options);
    for (const std::int32_t index : {-1, 4}) {
      const Tensor wrong = Tensor::from<std::int32_t>({1}, {index}, &backend);
      // A device says so when the host waits for it.
      EXPECT_THROW((backend.gather_rows(x, table, wrong), backend.synchronize()), Error);
      EXPECT_THROW((backend.scatter_add_rows(table, x, wrong), backend.synchronize()), Error);
    }
  });
}

}  // namespace
}  // namespace ronde::test
