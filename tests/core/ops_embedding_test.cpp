#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

Tensor indices(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(shape, values, &backend("cpu"));
}

TEST(Embedding, GivesTheRowsOfItsIndices) {
  const Tensor table = f64_tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  const Variable y = embedding(table, indices({2, 2}, {2, 0, 1, 2}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  expect_close(y.value(), {5, 6, 1, 2, 3, 4, 5, 6}, 0.0, "y");
  EXPECT_EQ(embedding(table, indices({0, 4}, {})).shape(), (Shape{0, 4, 2}));
}

TEST(Embedding, AddsTheGradientsOfAnIndexThatOccursTwice) {
  const Variable table = Variable::parameter(f64_tensor({4, 2}, std::vector<double>(8, 0.0)));
  embedding(table, indices({3}, {1, 3, 1})).backward(f64_tensor({3, 2}, {1, 2, 10, 20, 100, 200}));
  expect_close(table.grad(), {0, 0, 101, 202, 0, 0, 10, 20}, 0.0, "gradient");
}

TEST(Embedding, Gradients) {
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 2, 3}})
    expect_gradients(
        [&](const Variables& v) {
          return square(embedding(v[0], indices(shape, {4, 0, 4, 2, 2, 4})));
        },
        {random_tensor({5, 3}, 1)});
}

TEST(Embedding, TakesIndicesOfBothWidths) {
  const Tensor table = f64_tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto rows = [&](std::int64_t index) {
    return embedding(table, Tensor::from<std::int64_t>({2}, {0, index}, &table.backend())).value();
  };
  EXPECT_EQ(rows(2).to_vector<double>(), (std::vector<double>{1, 2, 5, 6}));
  EXPECT_NE(message_of([&] { rows((std::int64_t{1} << 32) + 1); }).find("at position 1 is outside"),
            std::string::npos);
}

TEST(Embedding, ErrorsNameIndexAndTable) {
  const Tensor table = f64_tensor({3, 1}, {1, 2, 3});
  for (const std::int32_t wrong : {-1, 3})
    EXPECT_EQ(message_of([&] {
                embedding(table, indices({2}, {0, wrong}));
              }),
              cat("[gather_rows] index ", wrong, " at position 1 is outside a table of 3 rows"));
  EXPECT_EQ(message_of([&] { embedding(table, f64_tensor({1}, {0})); }),
            "[embedding] expects indices of i32 or i64, got f64 (1,)");
  EXPECT_EQ(message_of([&] {
              embedding(f64_tensor({3}, {1, 2, 3}), indices({1}, {0}));
            }),
            "[embedding] table must be (rows, d), got shape (3,)");
}

}  // namespace
}  // namespace ronde::test
