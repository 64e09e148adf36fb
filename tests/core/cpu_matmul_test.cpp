#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

// Sum over k of a * b, element by element.
Values product(const Tensor& a, const Tensor& b, MatmulParams params) {
  const Values x = a.to_vector<double>(), y = b.to_vector<double>();
  const std::int64_t batches = a.rank() == 3 ? a.size(0) : 1;
  const std::int64_t m = a.size(params.transpose_a ? -1 : -2), k = a.size(params.transpose_a ? -2 : -1);
  const std::int64_t n = b.size(params.transpose_b ? -2 : -1);
  Values out;
  for (std::int64_t i = 0; i < batches; ++i)
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        double sum = 0;
        for (std::int64_t j = 0; j < k; ++j)
          sum += x[static_cast<std::size_t>(i * m * k + (params.transpose_a ? j * m + r : r * k + j))] *
                 y[static_cast<std::size_t>(i * k * n + (params.transpose_b ? c * k + j : j * n + c))];
        out.push_back(sum);
      }
  return out;
}

Shape matrix_shape(std::int64_t batches, std::int64_t rows, std::int64_t columns, bool transposed) {
  Shape shape{transposed ? columns : rows, transposed ? rows : columns};
  return batches == 0 ? shape : Shape{batches, shape[0], shape[1]};
}

TEST(CpuMatmul, AllTransposesAndBatches) {
  CpuBackend cpu;
  for (const std::int64_t batches : {0, 1, 3})  // 0: rank 2
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const auto& sizes : {std::tuple{1, 1, 1}, {5, 3, 7}, {65, 9, 130}, {2, 0, 3}, {0, 4, 3}})
          for_each_real([&](DType dtype) {
            const auto& [m, k, n] = sizes;
            SCOPED_TRACE(cat(m, " ", k, " ", n, " ", transpose_a, transpose_b));
            const Tensor a = random_tensor(cpu, matrix_shape(batches, m, k, transpose_a), dtype, 1);
            const Tensor b = random_tensor(cpu, matrix_shape(batches, k, n, transpose_b), dtype, 2);
            const Tensor out = unwritten(cpu, matrix_shape(batches, m, n, false), dtype);
            const MatmulParams params{transpose_a, transpose_b};
            cpu.matmul(out, a, b, params);
            expect_close(out, product(a, b, params));
          });
}

TEST(CpuMatmul, DenseAddsTheBiasAndAppliesTheEpilogue) {
  CpuBackend cpu;
  for (const std::int64_t n : {0, 1, 70})
    for (const bool with_bias : {false, true})
      for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu})
        for_each_real([&](DType dtype) {
          const Tensor x = random_tensor(cpu, {n, 11}, dtype, 1);
          const Tensor weight = random_tensor(cpu, {11, 67}, dtype, 2);
          const Tensor bias = with_bias ? random_tensor(cpu, {67}, dtype, 3) : Tensor();
          const Tensor out = unwritten(cpu, {n, 67}, dtype);
          cpu.dense(out, x, weight, bias, epilogue);
          Values expected = product(x, weight, {});
          for (std::size_t i = 0; i < expected.size(); ++i) {
            if (with_bias) expected[i] += bias.to_vector<double>()[i % 67];
            if (epilogue == Epilogue::relu) expected[i] = std::max(expected[i], 0.0);
          }
          expect_close(out, expected);
        });
}

TEST(CpuMatmul, AnEpilogueKeepsNan) {
  CpuBackend cpu;
  const Tensor one = Tensor::full({1, 1}, 1, {.backend = &cpu}),
               out = Tensor::zeros({1, 1}, {.backend = &cpu});
  cpu.dense(out, Tensor::full({1, 1}, std::nan(""), {.backend = &cpu}), one, {}, Epilogue::relu);
  EXPECT_TRUE(std::isnan(out.item()));
}

}  // namespace
}  // namespace ronde::test
