#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

Tensor i64_tensor(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(shape, values, &f64_tensor({}, {0}).backend());
}

TEST(Pick, OneElementOfEachRow) {
  const Tensor x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Variable y = pick(x, i32_tensor({2, 0}));
  EXPECT_EQ(y.shape(), Shape{2});
  expect_close(y.value(), {3, 4}, 0, "picked");
  expect_close(pick(x, argmax(x)).value(), max(x, {.axes = {1}}).value().to_vector<double>(), 0, "largest");
}

TEST(Pick, OfManyRows) {
  const Tensor x = random_tensor({1000, 7});
  expect_close(pick(x, argmax(x)).value(), max(x, {.axes = {1}}).value().to_vector<double>(), 0, "largest");
}

TEST(Pick, SeveralOfEachRow) {
  const Tensor x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Variable y = pick(x, i64_tensor({2, 2}, {2, 2, 0, 1}));
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  expect_close(y.value(), {3, 3, 4, 5}, 0, "picked");
  EXPECT_EQ(pick(x, i64_tensor({2, 0}, {})).shape(), (Shape{2, 0}));
}

TEST(Pick, OfAllRanks) {
  const Tensor x = random_tensor({2, 2, 3});
  const Variable y = pick(x, i64_tensor({2, 2}, {0, 1, 2, 0}));
  const std::vector<double> at = x.to_vector<double>();
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  expect_close(y.value(), {at[0], at[4], at[8], at[9]}, 0, "of rows of rows");
  expect_close(pick(f64_tensor({3}, {5, 6, 7}), i64_tensor({}, {1})).value(), {6}, 0, "of one row");
  EXPECT_EQ(pick(random_tensor({0, 3}), i64_tensor({0}, {})).shape(), Shape{0});
}

TEST(Pick, Gradients) {
  const Tensor twice = i64_tensor({3, 2}, {0, 0, 3, 1, 2, 3}), one = i32_tensor({3, 0, 1});
  expect_gradients([&](const Variables& v) { return square(pick(v[0], twice)); }, {random_tensor({3, 4})});
  expect_gradients([&](const Variables& v) { return pick(sin(v[0]), one); }, {random_tensor({3, 4})});
  expect_gradients(
      [&](const Variables& v) {
        return pick(permute(v[0], {1, 0}), one);
      },
      {random_tensor({4, 3})});
}

TEST(Pick, SaysWhatDoesNotFit) {
  const Tensor x = random_tensor({2, 3});
  EXPECT_EQ(message_of([&] {
              pick(x, i32_tensor({0, 3}));
            }),
            "[pick] index 3 at position 1, expected 0 to 2");
  EXPECT_EQ(message_of([&] {
              pick(x, i64_tensor({2}, {-1, std::int64_t{1} << 32}));
            }),
            "[pick] index -1 at position 0, expected 0 to 2");
  EXPECT_THROW(pick(x, i64_tensor({2}, {0, (std::int64_t{1} << 32) + 1})), Error);
  EXPECT_EQ(message_of([&] {
              pick(x, i32_tensor({0, 1, 2}));
            }),
            "[pick] x of shape (2, 3) needs indices of that shape without its last axis, or with another "
            "extent of it, got (3,)");
  EXPECT_EQ(message_of([&] { pick(x, x); }), "[pick] expects indices of i32 or i64, got f64 (2, 3)");
  EXPECT_THROW(pick(i32_tensor({1}), i64_tensor({}, {0})), Error);
}

}  // namespace
}  // namespace ronde::test
