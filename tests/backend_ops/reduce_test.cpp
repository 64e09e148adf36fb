#include <cmath>
#include <limits>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct ReduceCase {
  Shape x, out;
};

const ReduceCase kReduceCases[] = {
    {{1}, {1}},
    {{70001}, {1}},
    {{200, 3}, {1, 3}},
    {{2000, 64}, {1, 64}},
    {{999, 37}, {1, 37}},
    {{6, 4100}, {6, 1}},
    {{603, 16}, {603, 1}},
    {{3, 5, 7, 33}, {1, 1, 1, 33}},
    {{3, 5, 7, 33}, {3, 1, 1, 33}},
    {{3, 5, 7, 32}, {3, 1, 1, 32}},
    {{3, 5, 7, 4}, {3, 1, 7, 4}},
    {{3, 5, 7, 4}, {1, 5, 7, 4}},
    {{5, 1, 4100, 8}, {5, 1, 1, 8}},
    {{3, 5, 7, 33}, {3, 5, 7, 1}},
    {{3, 5, 7, 4}, {1, 5, 1, 4}},
    {{3, 5, 7, 4}, {1, 1, 1, 1}},
    {{3, 1, 7, 4}, {3, 1, 7, 4}},
    {{4100, 9}, {1, 9}},
    {{0, 4}, {1, 4}},
    {{9, 200}, {9, 1}},
    {{70, 3}, {70, 1}},
    {{100003}, {1}},
};

TEST(Reduce, AllRunsOfAxes) {
  using enum ReduceOp;
  for (const ReduceOp op : {sum, mean, max, min})
    for (const ReduceCase& c : kReduceCases) {
      if (c.x.count() == 0 && op != sum) continue;
      SCOPED_TRACE(cat("op ", static_cast<int>(op), " ", c.x, " -> ", c.out));
      compare({blank(c.out)}, {random(c.x, 1, -1, 2)},
              [&](Backend& b, Tensors out, Tensors in) { b.reduce(op, out[0], in[0]); });
    }
}

TEST(Reduce, AnExtremeOfANaNIsOne) {
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::min})
    for_each_setting(
        [&](Backend& backend, DType dtype) {
          for (const std::int64_t place : {0, 7, 19}) {
            std::vector<double> values(20 * 16, 1.0);
            values[static_cast<std::size_t>(place * 16 + 3)] = std::nan("");
            const Tensor x = Tensor::from<double>({1, 20, 16}, values, &backend).to(dtype);
            const Tensor y = Tensor::empty({1, 1, 16}, x.options());
            backend.reduce(op, y, x);
            EXPECT_TRUE(std::isnan(y.to_vector<double>()[3])) << place;
            EXPECT_EQ(y.to_vector<double>()[4], 1.0) << place;
          }
        },
        {DType::f32, DType::f64, DType::bf16});
}

TEST(Reduce, AnExtremeOfARowWithANaNIsOne) {
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::min})
    for_each_setting(
        [&](Backend& backend, DType dtype) {
          for (const std::int64_t k : {3, 16, 100})
            for (const std::int64_t place : {std::int64_t{0}, k / 2, k - 1}) {
              SCOPED_TRACE(cat(k, " ", place));
              std::vector<double> values(static_cast<std::size_t>(5 * k), 1.0);
              values[static_cast<std::size_t>(2 * k + place)] = std::nan("");
              const Tensor x = Tensor::from<double>({5, k}, values, &backend).to(dtype);
              const Tensor rows = Tensor::empty({5, 1}, x.options()),
                           all = Tensor::empty({1, 1}, x.options());
              backend.reduce(op, rows, x);
              backend.reduce(op, all, x);
              EXPECT_TRUE(std::isnan(rows.to_vector<double>()[2]));
              EXPECT_EQ(rows.to_vector<double>()[3], 1.0);
              EXPECT_TRUE(std::isnan(all.to_vector<double>()[0]));
            }
        },
        {DType::f32, DType::f64, DType::bf16});
}

TEST(Reduce, SumOfManyEqualValuesIsExactEnough) {
  const Tensor x = Tensor::full({1 << 20}, 0.1f, {.dtype = DType::f64, .backend = &oracle()});
  compare({blank({1})}, {x},
          [](Backend& b, Tensors out, Tensors in) { b.reduce(ReduceOp::sum, out[0], in[0]); });
}

TEST(Reduce, SumOfSquares) {
  for (const Shape& shape : {Shape{0}, Shape{1}, Shape{77, 5}, Shape{100000}})
    for_each_setting([&](Backend& backend, DType dtype) {
      const Tensor x = random(shape, 1), total = unwritten(backend, {}, DType::f64);
      const Tensor want = unwritten(oracle(), {}, DType::f64);
      oracle().sum_of_squares(want, x);
      backend.sum_of_squares(total, copies({x}, backend, dtype)[0]);
      EXPECT_NEAR(total.item(), want.item(), 1e-6 * want.item());
    });
}

// By it gradients are found that are not finite, so large ones must not look so.
TEST(Reduce, SumOfSquaresBeyondTheRangeOfAFloat) {
  for_each_setting([&](Backend& backend, DType dtype) {
    const Tensor total = unwritten(backend, {}, DType::f64);
    const auto sum = [&](double value) {
      backend.sum_of_squares(total, copies({Tensor::full({1000}, value)}, backend, dtype)[0]);
      return total.item();
    };
    EXPECT_NEAR(sum(1e30) / 1e63, 1.0, 0.02);
    EXPECT_TRUE(std::isinf(sum(std::numeric_limits<double>::infinity())));
    EXPECT_TRUE(std::isnan(sum(std::numeric_limits<double>::quiet_NaN())));
  });
}

TEST(Reduce, ArgmaxAndCountCorrect) {
  const Shape shape{37, 10};
  const Tensor labels = Tensor::from<std::int32_t>({37}, std::vector<std::int32_t>(37, 4), &oracle());
  const Tensor count = Tensor::from<std::int64_t>({}, {5}, &oracle());
  compare({blank({37}, DType::i64), count}, {random(shape, 1), labels},
          [](Backend& b, Tensors out, Tensors in) {
            b.argmax(out[0], in[0]);
            b.count_correct(out[1], in[0], in[1]);
          });
}

}  // namespace
}  // namespace ronde::test
