// Backward passes: what is accumulated where, and graphs of any depth.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(Backward, AccumulatesOverCallsUntilZeroGrad) {
  Variable a = leaf({2}, {1, 2});
  EXPECT_FALSE(a.grad().defined());
  sum(a * 3.0).backward();
  expect_close(a.grad(), {3, 3}, 0, "first");
  sum(a * a).backward();
  expect_close(a.grad(), {5, 7}, 0, "second");
  a.zero_grad();
  EXPECT_FALSE(a.grad().defined());
  sum(a * a).backward();
  expect_close(a.grad(), {2, 4}, 0, "after zero_grad");
}

TEST(Backward, OfALeafItself) {
  Variable a = leaf({1}, {7});
  int fired = 0;
  a.on_grad_ready([&](const Variable&) { ++fired; });
  a.backward();
  a.backward(f64_tensor({1}, {2}));
  expect_close(a.grad(), {3}, 0, "1 + 2");
  EXPECT_EQ(fired, 2);
}

TEST(Backward, SeedMustFit) {
  const Variable a = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(message_of([&] { (a * 2.0).backward(); }),
            "[backward] a result of shape (2, 3) needs a seed gradient of that shape; only a single element "
            "has the default 1");
  EXPECT_EQ(message_of([&] {
              (a * 2.0).backward(f64_tensor({2}, {1, 1}));
            }),
            "[backward] the seed must be f64 (2, 3) on the same backend, got f64 (2,)");
  EXPECT_EQ(message_of([&] { Variable(a.value()).backward(); }),
            "[backward] nothing that this was computed from requires a gradient");
}

TEST(Backward, SeedIsNeitherKeptNorChanged) {
  Variable a = leaf({2}, {1, 2});
  const Tensor seed = f64_tensor({2}, {10, 20});
  (a + 0.0).backward(seed);
  a.backward(seed);
  EXPECT_EQ(seed.to_vector<double>(), (std::vector<double>{10, 20}));
  expect_close(a.grad(), {20, 40}, 0, "twice the seed");
}

TEST(Backward, SecondWalkOverTheSameGraphIsAnError) {
  const Variable a = leaf({2}, {1, 2});
  const Variable shared = exp(a);
  const Variable first = sum(shared * 2.0), second = sum(shared * 3.0);
  first.backward();
  EXPECT_EQ(
      message_of([&] { first.backward(); }),
      "[backward] the graph behind 'sum' was released by an earlier backward pass: run the forward pass "
      "again");
  EXPECT_NE(message_of([&] { second.backward(); }).find("behind 'exp' was released"), std::string::npos);
}

TEST(Backward, SharedPartsAreWalkedOnce) {
  expect_gradients(
      [](const Variables& v) {
        const Variable h = tanh(v[0] * v[1]);
        const Variable twice = h + h;
        return twice * h - exp(h) * v[0] + twice;
      },
      {random_tensor({2, 3}, 1), random_tensor({2, 3}, 2)});
}

TEST(Backward, OneGradientGivenToTwoInputsIsNotAddedInto) {
  // Both inputs of `a + b` share the tensor of their gradient; c adds to one of them only.
  const Variable x = leaf({2}, {1, 2}), y = leaf({2}, {3, 4});
  const Variable a = x * 1.0, b = y * 1.0;
  const Variable c = a * 5.0;
  sum((a + b) + c).backward();
  expect_close(x.grad(), {6, 6}, 0, "x");
  expect_close(y.grad(), {1, 1}, 0, "y");
}

TEST(Backward, LeavesDoNotShareGradients) {
  Variable x = leaf({2}, {1, 2}), y = leaf({2}, {3, 4});
  const Tensor seed = f64_tensor({2}, {1, 1});
  (x + y).backward(seed);
  EXPECT_FALSE(x.grad().shares_storage_with(y.grad()));
  EXPECT_FALSE(x.grad().shares_storage_with(seed));
  sum(x * 2.0).backward();
  expect_close(x.grad(), {3, 3}, 0, "x");
  expect_close(y.grad(), {1, 1}, 0, "y");
}

TEST(Backward, GradientsAreDense) {
  Variable x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  sum(permute(x, {1, 0})).backward();
  EXPECT_TRUE(x.grad().is_contiguous());
}

TEST(Backward, FrozenAfterRecordingIsLeftOut) {
  Variable a = leaf({1}, {2}), b = leaf({1}, {3});
  const Variable y = a * b;
  a.set_requires_grad(false);
  y.backward();
  EXPECT_FALSE(a.grad().defined());
  expect_close(b.grad(), {2}, 0, "b");
}

TEST(Backward, UnfrozenAfterRecordingIsLeftOutToo) {
  Variable a = leaf({1}, {2}), b = leaf({1}, {3});
  a.set_requires_grad(false);
  const Variable y = a * b;
  a.set_requires_grad(true);
  y.backward();
  EXPECT_FALSE(a.grad().defined());
}

TEST(Backward, SameBitsTwice) {
  const auto run = [] {
    Variable w = Variable::parameter(random_tensor({7, 5}, 3).to(DType::f32));
    const Variable h = tanh(matmul(w, permute(w, {1, 0})));
    sum(h * h + relu(h) * sum(w) + exp(h)).backward();
    return w.grad().to_vector<float>();
  };
  EXPECT_EQ(run(), run());
}

TEST(Backward, OfAGraphBegunByAnotherThread) {
  // The other thread's node numbers start low; they must still come after those of what they use.
  const Variable x = leaf({1}, {2});
  Variable h = x;
  for (int i = 0; i < 10; ++i) h = h + 1.0;
  Variable y;
  std::thread([&] { y = (h * 3.0) * h + h; }).join();
  y.backward();
  expect_close(x.grad(), {73}, 0, "6 h + 1 at h = 12");
}

TEST(DeepGraph, BackwardThroughAHundredThousandNodes) {
  Variable x = leaf({1}, {1});
  Variable y = x;
  for (int i = 0; i < 100'000; ++i) y = y + 1.0;
  y.backward();
  EXPECT_EQ(y.item(), 100'001);
  expect_close(x.grad(), {1}, 0, "x");
}

TEST(DeepGraph, DroppedWithoutBackward) {
  const Variable x = leaf({1}, {1});
  Variable y = x;
  for (int i = 0; i < 100'000; ++i) y = y + 1.0;
  y = {};
}

TEST(DeepGraph, OfSoftmaxInputsIsDropped) {
  const NoGrad no_grad;
  Variable y = f64_tensor({1}, {1});
  for (int i = 0; i < 100'000; ++i) y = softmax(y);
  y = {};
}

TEST(Backward, ReleasesTheGraphAsItIsWalked) {
  const Variable x = leaf({1}, {2});
  std::weak_ptr<Node> middle;
  Variable y;
  {
    const Variable h = x + 1.0;
    middle = h.node();
    y = h * 2.0;
  }
  EXPECT_FALSE(middle.expired());
  y.backward();
  EXPECT_TRUE(middle.expired());
}

}  // namespace
}  // namespace ronde::test
