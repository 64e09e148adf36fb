#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(ShapeOps, AreViews) {
  const Variable x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(reshape(x, {3, 2}).value().shares_storage_with(x.value()));
  EXPECT_TRUE(permute(x, {1, 0}).value().shares_storage_with(x.value()));
  EXPECT_TRUE(slice(x, 1, 0, 2).value().shares_storage_with(x.value()));
  EXPECT_TRUE(broadcast_to(x, {4, 2, 3}).value().shares_storage_with(x.value()));
}

TEST(ShapeOps, AReshapeThatChangesNothingIsNone) {
  const Variable x = Variable::parameter(random_tensor({2, 3})), y = x * 2.0;
  EXPECT_EQ(reshape(y, {2, 3}).node(), y.node());
  EXPECT_TRUE(reshape(x, {2, 3}).is_leaf());
  EXPECT_NE(reshape(y, {-1, 2}).node(), y.node());
  const Variable turned = permute(y, {1, 0});
  EXPECT_TRUE(reshape(turned, {3, 2}).value().is_contiguous());
}

TEST(ShapeOps, Values) {
  const Variable x = f64_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_close(permute(x, {1, 0}).value(), {1, 4, 2, 5, 3, 6}, 0, "permute");
  expect_close(slice(x, -1, 1, 3).value(), {2, 3, 5, 6}, 0, "slice");
  expect_close(concat({x, slice(x, 1, 0, 1)}, -1).value(), {1, 2, 3, 1, 4, 5, 6, 4}, 0, "concat");
  EXPECT_EQ(reshape(x, {-1, 2}).shape(), (Shape{3, 2}));
}

TEST(ShapeOps, ZeroPad2d) {
  const Variable x = f64_tensor({1, 1, 2, 2}, {1, 2, 3, 4});
  const Variable y = zero_pad2d(x, {.top = 1, .left = 1, .right = 2});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 5, 2}));
  expect_close(y.value(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0}, 0, "padded");
  expect_gradients(
      [](const Variables& v) {
        return zero_pad2d(v[0], {1, 2, 3, 0});
      },
      {random_tensor({2, 3, 2, 2})});
  EXPECT_THROW(zero_pad2d(x, {.bottom = -1}), UsageError);
  EXPECT_THROW(zero_pad2d(f64_tensor({2}, {1, 2}), {}), Error);
}

TEST(ShapeOps, Gradients) {
  const std::vector<Tensor> x{random_tensor({2, 3, 4})};
  expect_gradients([](const Variables& v) { return reshape(v[0], {4, -1}); }, x);
  expect_gradients([](const Variables& v) { return reshape(permute(v[0], {2, 0, 1}), {6, 4}); }, x);
  expect_gradients([](const Variables& v) { return permute(v[0], {2, 0, 1}); }, x);
  expect_gradients([](const Variables& v) { return permute(v[0], {-1, 1, -3}); }, x);
  expect_gradients([](const Variables& v) { return slice(v[0], 1, 1, 3); }, x);
  expect_gradients([](const Variables& v) { return slice(v[0], -1, 0, 4); }, x);
  expect_gradients([](const Variables& v) { return slice(v[0], 0, 1, 1); }, x);
  expect_gradients([](const Variables& v) { return broadcast_to(v[0], {5, 2, 3, 4}); }, x);
  expect_gradients([](const Variables& v) { return broadcast_to(v[0], {2, 3, 4}); }, {random_tensor({3, 1})});
}

TEST(ShapeOps, GradientOfConcat) {
  expect_gradients(
      [](const Variables& v) {
        return concat({v[0], v[1], v[0]}, 0);
      },
      {random_tensor({2, 3}, 1), random_tensor({4, 3}, 2)});
  expect_gradients(
      [](const Variables& v) {
        return concat({v[0], v[1], permute(v[0], {1, 0})}, -1);
      },
      {random_tensor({2, 2}, 1), random_tensor({2, 0}, 2)});
  expect_gradients([](const Variables& v) { return square(concat({v[0]}, 1)); }, {random_tensor({2, 2}, 1)});
}

TEST(ShapeOps, StacksAlongANewAxis) {
  const Tensor a = f64_tensor({2, 2}, {1, 2, 3, 4}), b = f64_tensor({2, 2}, {5, 6, 7, 8});
  expect_close(stack({a, b}).value(), {1, 2, 3, 4, 5, 6, 7, 8}, 0, "in front");
  EXPECT_EQ(stack({a, b, a}, 1).shape(), (Shape{2, 3, 2}));
  expect_close(stack({a, b}, 1).value(), {1, 2, 5, 6, 3, 4, 7, 8}, 0, "between");
  expect_close(stack({a, b}, -1).value(), {1, 5, 2, 6, 3, 7, 4, 8}, 0, "behind");
  EXPECT_EQ(stack({f64_tensor({}, {3})}).shape(), Shape{1});
  for (const int axis : {0, 1, 2, -1})
    expect_gradients(
        [&](const Variables& v) {
          return stack({v[0], v[1], v[0]}, axis);
        },
        {random_tensor({2, 3}, 1), random_tensor({2, 3}, 2)});
  EXPECT_EQ(message_of([&] {
              stack({a, random_tensor({2, 3})});
            }),
            "[stack] shapes (2, 2) and (2, 3) differ");
  EXPECT_EQ(message_of([&] { stack({a}, 3); }), "[stack] axis 3 of a result with 3 axes");
  EXPECT_EQ(message_of([] { stack({}); }), "[stack] of no parts");
}

TEST(ShapeOps, SlicesOfOneVariableOverlap) {
  expect_gradients(
      [](const Variables& v) { return slice(v[0], 0, 0, 3) * slice(v[0], 0, 1, 4) + slice(v[0], 0, 2, 3); },
      {random_tensor({4, 2})});
}

TEST(ShapeOps, OfAnEmptyBatch) {
  const std::vector<Tensor> x{random_tensor({0, 3, 4})};
  expect_gradients([](const Variables& v) { return reshape(v[0], {0, 12}); }, x);
  expect_gradients([](const Variables& v) { return permute(v[0], {2, 1, 0}); }, x);
  expect_gradients([](const Variables& v) { return concat({v[0], v[0]}, 0); }, x);
}

TEST(ShapeOps, SayWhatDoesNotFit) {
  const Variable x = random_tensor({2, 3});
  EXPECT_EQ(message_of([&] { reshape(x, {4, 2}); }), "[reshape] (2, 3) does not fit into (4, 2)");
  EXPECT_EQ(message_of([&] { slice(x, 1, 2, 4); }), "[slice] elements 2 to 4 of axis 1 of shape (2, 3)");
  EXPECT_EQ(message_of([&] {
              concat({x, random_tensor({2, 4})}, 0);
            }),
            "[concat] shapes (2, 3) and (2, 4) differ in more than axis 0");
  EXPECT_EQ(message_of([&] {
              concat({x, random_tensor({3})}, 0);
            }),
            "[concat] shapes (2, 3) and (3,) differ in more than axis 0");
  EXPECT_EQ(message_of([&] { concat({}, 0); }), "[concat] of no parts");
}

}  // namespace
}  // namespace ronde::test
