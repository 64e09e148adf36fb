#include <gtest/gtest.h>

#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(JoinedRows, LieOneBehindTheOther) {
  const Variable a = f64_tensor({2, 2, 1}, {1, 2, 3, 4}), b = f64_tensor({2}, {5, 6}),
                 c = f64_tensor({2, 3}, {7, 8, 9, 10, 11, 12});
  const Variable rows = join_rows({a, b, c});
  EXPECT_EQ(rows.shape(), (Shape{2, 6}));
  expect_close(rows.value(), {1, 2, 5, 7, 8, 9, 3, 4, 6, 10, 11, 12}, 0, "rows");
}

TEST(JoinedRows, SplitIntoWhatTheyWereJoinedOf) {
  const Variable a = Variable::parameter(random_tensor({2, 3})), b = softmax(a);
  const std::vector<Variable> parts = split_rows(join_rows({a, b}), {{3}, {3}});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].same_as(a));
  EXPECT_TRUE(parts[1].same_as(b));
  EXPECT_TRUE(softmax_input(parts[1]).same_as(a));
  const NoGrad no_grad;
  EXPECT_TRUE(split_rows(join_rows({a, b}), {{3}, {3}})[1].same_as(b)) << "nothing is recorded";
}

TEST(JoinedRows, SplitWhoeverMadeThem) {
  const Variable rows = f64_tensor({2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::vector<Variable> parts = split_rows(rows, {{}, {2, 2}, {1}});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].shape(), (Shape{2}));
  EXPECT_EQ(parts[1].shape(), (Shape{2, 2, 2}));
  expect_close(parts[0].value(), {1, 7}, 0, "of a scalar");
  expect_close(parts[1].value(), {2, 3, 4, 5, 8, 9, 10, 11}, 0, "of a matrix");
  expect_close(parts[2].value(), {6, 12}, 0, "the last");
  // Of other shapes than they were joined of.
  const Variable a = f64_tensor({1, 4}, {1, 2, 3, 4});
  const Variable first = split_rows(join_rows({a, a}), {{3}, {5}}).front();
  expect_close(first.value(), {1, 2, 3}, 0, "cut elsewhere");
}

// Each remembers what it was made of: a stack that grows with the chain would end.
TEST(JoinedRows, LongChainsAreLetGoWithoutRecursion) {
  const NoGrad no_grad;
  Variable x = f64_tensor({1, 1}, {0.5});
  for (int i = 0; i < 200000; ++i) x = i % 2 == 0 ? join_rows({x}) : sigmoid(x);
  EXPECT_EQ(x.shape(), (Shape{1, 1}));
}

TEST(JoinedRows, HaveGradientsThroughRowsAndParts) {
  const std::vector<Tensor> x{random_tensor({2, 2, 2}), random_tensor({2, 3})};
  expect_gradients([](const Variables& v) { return square(join_rows({v[0], v[1]})); }, x);
  expect_gradients(
      [](const Variables& v) {
        const auto parts = split_rows(join_rows({v[0], v[1]}), {{2, 2}, {3}});
        return sum(square(parts[0])) + sum(exp(parts[1]));
      },
      x);
  expect_gradients(
      [](const Variables& v) {
        return square(split_rows(v[0], {{2}, {2, 1}})[1]);
      },
      {random_tensor({3, 4})});
}

TEST(JoinedRows, RefuseWhatDoesNotFit) {
  const Variable rows = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(message_of([&] {
              split_rows(rows, {{2}, {2}});
            }),
            "[split_rows] expected rows (n, 4), got (2, 3)");
  EXPECT_EQ(message_of([&] {
              split_rows(f64_tensor({3}, {1, 2, 3}), {{2}, {1}});
            }),
            "[split_rows] expected rows (n, 3), got (3,)");
  EXPECT_EQ(message_of([&] { join_rows({f64_tensor({}, {1})}); }), "[join_rows] a scalar has no samples");
  EXPECT_THROW(join_rows({rows, f64_tensor({1, 3}, {1, 2, 3})}), Error);
}

}  // namespace
}  // namespace ronde::test
