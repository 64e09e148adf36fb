// on_grad_ready: when hooks fire, how often, and what they may do.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(Hooks, FireOncePerBackwardWithTheWholeGradient) {
  Variable w = leaf({1}, {2});
  std::vector<double> seen;
  w.on_grad_ready([&](const Variable& v) { seen.push_back(v.grad().item()); });
  const Variable y = w * w + w * 3.0 + exp(w * 0.0);
  y.backward();
  EXPECT_EQ(seen, (std::vector<double>{7}));
  (w * 1.0).backward();
  EXPECT_EQ(seen, (std::vector<double>{7, 8}));
}

TEST(Hooks, FireOnlyForLeavesThatAreReached) {
  Variable w = leaf({1}, {2}), unused = leaf({1}, {2}), frozen = leaf({1}, {2});
  int wrong = 0;
  unused.on_grad_ready([&](const Variable&) { ++wrong; });
  frozen.on_grad_ready([&](const Variable&) { ++wrong; });
  const Variable elsewhere = unused * 2.0;
  frozen.set_requires_grad(false);
  (w * frozen).backward();
  EXPECT_EQ(wrong, 0);
}

TEST(Hooks, FireInReverseOrderWhileTheRestIsStillToBeWalked) {
  Variable first = leaf({1}, {2}), second = leaf({1}, {3}), third = leaf({1}, {4});
  std::string order;
  first.on_grad_ready([&](const Variable&) { order += '1'; });
  second.on_grad_ready([&](const Variable&) {
    order += '2';
    EXPECT_FALSE(first.grad().defined());
  });
  third.on_grad_ready([&](const Variable&) {
    order += '3';
    EXPECT_FALSE(second.grad().defined());
  });
  (((first * 2.0) * second) * third).backward();
  EXPECT_EQ(order, "321");
}

TEST(Hooks, FireAfterTheLastOfSeveralUses) {
  // `w` is used at the end and at the beginning; `late` in between.
  Variable w = leaf({1}, {2}), late = leaf({1}, {3});
  std::string order;
  w.on_grad_ready([&](const Variable&) { order += 'w'; });
  late.on_grad_ready([&](const Variable&) { order += 'l'; });
  (((w * 2.0) * late) * w).backward();
  EXPECT_EQ(order, "lw");
}

TEST(Hooks, SeveralAreCalledInOrderAndMayAddMore) {
  Variable w = leaf({1}, {2});
  std::string order;
  w.on_grad_ready([&](const Variable& v) {
    order += 'a';
    Variable handle = v;
    if (order.size() == 1) handle.on_grad_ready([&](const Variable&) { order += 'c'; });
  });
  w.on_grad_ready([&](const Variable&) { order += 'b'; });
  (w * 1.0).backward();
  EXPECT_EQ(order, "abc");
}

TEST(Hooks, AnErrorPropagatesAndLeavesTheEngineUsable) {
  Variable first = leaf({1}, {2}), second = leaf({1}, {3});
  bool fail = true;
  int fired = 0;
  first.on_grad_ready([&](const Variable&) { ++fired; });
  second.on_grad_ready([&](const Variable&) { require(!fail, "lost a rank"); });
  const Variable h = first * 2.0;
  const Variable y = h * second;
  EXPECT_EQ(message_of([&] { y.backward(); }), "lost a rank");
  EXPECT_EQ(fired, 0);
  EXPECT_TRUE(grad_enabled());
  for (const Variable& part : {y, h})
    EXPECT_NE(message_of([&] { part.backward(); }).find("was released"), std::string::npos);
  fail = false;
  first.zero_grad();
  second.zero_grad();
  ((first * 2.0) * second).backward();
  EXPECT_EQ(fired, 1);
  expect_close(first.grad(), {6}, 0, "first");
  expect_close(second.grad(), {4}, 0, "second");
}

TEST(Hooks, MayWalkAnotherGraph) {
  Variable w = leaf({1}, {2}), v = leaf({1}, {5});
  const Variable other = v * 4.0 + v;
  w.on_grad_ready([&](const Variable&) { other.backward(); });
  (w * v).backward();
  expect_close(v.grad(), {7}, 0, "2 + 5");
}

}  // namespace
}  // namespace ronde::test
