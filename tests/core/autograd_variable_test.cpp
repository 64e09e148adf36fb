// Variable and NoGrad: handles, leaves, memory of the caller.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(Variable, IsAHandle) {
  const Variable a = leaf({2}, {1, 2});
  const Variable b = a;
  EXPECT_TRUE(a.same_as(b));
  EXPECT_FALSE(a.same_as(a.detach()));
  EXPECT_FALSE(Variable().defined());
  EXPECT_FALSE(Variable().requires_grad());
  EXPECT_TRUE(Variable().is_leaf());
}

TEST(Variable, SaysWhetherItNeedsAGradient) {
  Variable a = leaf({2}, {1, 2});
  const Variable constant(f64_tensor({2}, {1, 2}));
  EXPECT_TRUE(a.requires_grad());
  EXPECT_FALSE(constant.requires_grad());
  EXPECT_FALSE((constant * 2.0).requires_grad());
  const Variable y = a * constant;
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(a.is_leaf());
  EXPECT_FALSE(y.detach().requires_grad());
  EXPECT_TRUE(y.detach().value().shares_storage_with(y.value()));
  a.set_requires_grad(false);
  EXPECT_FALSE((a * constant).requires_grad());
}

TEST(Variable, GradientNeedsAFloatingDtype) {
  EXPECT_EQ(message_of([] {
              Variable::parameter(i32_tensor({1, 2}));
            }),
            "[requires_grad] gradients need a floating dtype, got i32");
}

TEST(Variable, OnlyALeafCanBeFrozenBoundAssignedOrHooked) {
  Variable y = leaf({1}, {3}) * 2.0;
  EXPECT_EQ(message_of([&] { y.set_requires_grad(false); }),
            "[requires_grad] only a leaf can be frozen, this is the result of 'multiply'");
  EXPECT_THROW(y.bind(f64_tensor({1}, {0}), f64_tensor({1}, {0})), Error);
  EXPECT_THROW(y.assign(f64_tensor({1}, {0})), Error);
  EXPECT_THROW(y.on_grad_ready([](const Variable&) {}), Error);
}

TEST(Variable, AssignCopiesIntoTheSameMemory) {
  Variable a = leaf({2}, {1, 2});
  const Tensor memory = a.value();
  const Tensor source = f64_tensor({2}, {5, 6});
  a.assign(source);
  EXPECT_EQ(memory.to_vector<double>(), (std::vector<double>{5, 6}));
  EXPECT_FALSE(a.value().shares_storage_with(source));
  EXPECT_EQ(message_of([&] {
              a.assign(f64_tensor({3}, {1, 2, 3}));
            }),
            "[assign] shape (3,) to a variable of shape (2,)");
}

TEST(Variable, UndefinedIsAnErrorNotACrash) {
  EXPECT_THROW(Variable().value(), Error);
  EXPECT_THROW(Variable().backward(), Error);
  EXPECT_THROW(Variable{Tensor()}, Error);
}

TEST(NoGrad, NestsAndRecordsNothing) {
  const Variable a = leaf({1}, {1});
  EXPECT_TRUE(grad_enabled());
  {
    const NoGrad outer;
    {
      const NoGrad inner;
      EXPECT_FALSE(grad_enabled());
    }
    EXPECT_FALSE(grad_enabled());
    EXPECT_TRUE((a * 2.0).is_leaf());
    EXPECT_FALSE(Node::needed({a}));
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(Node::needed({Variable(), a}));
}

TEST(EnableGrad, RecordsWithinANoGrad) {
  const Variable a = leaf({1}, {1});
  const NoGrad no_grad;
  EXPECT_THROW(
      {
        const EnableGrad enable_grad;
        (a * 2.0).backward();
        const NoGrad inner;
        EXPECT_FALSE(grad_enabled());
        throw Error("ends the block");
      },
      Error);
  EXPECT_FALSE(grad_enabled());
  expect_close(a.grad(), {2}, 0, "gradient");
}

TEST(NoGrad, IsNamedByBackwardWhereItIsWhy) {
  const Variable a = leaf({1}, {1}), recorded = a * 2.0;
  const NoGrad no_grad;
  EXPECT_EQ(message_of([&] { (a * 2.0).backward(); }),
            "[backward] recording is off on this thread, by a NoGrad that is alive: nothing is known of what "
            "this was computed from. End the NoGrad's block, or compute this while an EnableGrad lives");
  recorded.backward();
  expect_close(a.grad(), {2}, 0, "of what was recorded before");
}

class BoundMemory : public ::testing::Test {
 protected:
  BoundMemory() { w_.bind(values_.view(1, {2}), gradients_.view(1, {2})); }

  double nan_ = std::numeric_limits<double>::quiet_NaN();
  Tensor values_ = f64_tensor({4}, {-1, -1, -1, -1});
  Tensor gradients_ = f64_tensor({4}, {-1, nan_, nan_, -1});
  Variable w_ = leaf({2}, {3, 4});
};

TEST_F(BoundMemory, HoldsTheValue) {
  EXPECT_EQ(values_.to_vector<double>(), (std::vector<double>{-1, 3, 4, -1}));
  w_.assign(f64_tensor({2}, {5, 6}));
  EXPECT_EQ(values_.to_vector<double>(), (std::vector<double>{-1, 5, 6, -1}));
}

TEST_F(BoundMemory, IsOverwrittenAfterZeroGradAndAddedToOtherwise) {
  EXPECT_FALSE(w_.grad().defined());
  sum(w_ * w_).backward();
  EXPECT_EQ(gradients_.to_vector<double>(), (std::vector<double>{-1, 6, 8, -1}));
  sum(w_).backward();
  EXPECT_EQ(gradients_.to_vector<double>(), (std::vector<double>{-1, 7, 9, -1}));
  w_.zero_grad();
  EXPECT_FALSE(w_.grad().defined());
  sum(w_).backward();
  EXPECT_EQ(gradients_.to_vector<double>(), (std::vector<double>{-1, 1, 1, -1}));
  EXPECT_TRUE(w_.grad().shares_storage_with(gradients_));
}

TEST_F(BoundMemory, KeepsAnEarlierGradient) {
  Variable a = leaf({2}, {1, 2});
  sum(a * 5.0).backward();
  a.bind(values_.view(0, {2}), gradients_.view(0, {2}));
  EXPECT_EQ(gradients_.view(0, {2}).to_vector<double>(), (std::vector<double>{5, 5}));
  expect_close(a.grad(), {5, 5}, 0, "grad");
}

TEST_F(BoundMemory, MustFit) {
  Variable a = leaf({2}, {1, 2});
  EXPECT_EQ(message_of([&] { a.bind(values_.view(0, {3}), gradients_.view(0, {2})); }),
            "[bind] value memory must be dense f64 (2,) on the same backend, got f64 (3,)");
  EXPECT_THROW(a.bind(values_.view(0, {2}), gradients_.to(DType::f32).view(0, {2})), Error);
}

TEST_F(BoundMemory, OfAConstantNeedsNoGradientMemory) {
  Variable moving_mean(f64_tensor({2}, {1, 2}));
  moving_mean.bind(values_.view(2, {2}), {});
  EXPECT_EQ(values_.to_vector<double>(), (std::vector<double>{-1, 3, 1, 2}));
}

}  // namespace
}  // namespace ronde::test
