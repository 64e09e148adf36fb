// Operations that a user writes, and what InputGrads promises them.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

// A user's own operation, y = x^3, and what it may do with InputGrads.
struct Cube : Node {
  Tensor x;
  const char* name() const override { return "cube"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    Backend& b = x.backend();
    const Tensor& g = grads.out(0);
    b.binary(BinaryOp::multiply, g, x, x);
    b.binary(BinaryOp::multiply, g, g, grad_out);
    b.unary(UnaryOp::affine, g, g, {.alpha = 3.0});
  }
};

Variable cube(const Variable& x) {
  const Tensor y = Tensor::empty_like(x.value());
  y.backend().unary(UnaryOp::power, y, x.value(), {.alpha = 3.0});
  auto node = std::make_shared<Cube>();
  node->x = x.value();
  return Node::record(node, {x}, y);
}

TEST(UserNode, HasAGradient) {
  expect_gradients([](const Variables& v) { return cube(v[0]) * v[0] + cube(cube(v[0])); },
                   {random_tensor({2, 3})});
}

// f: a function of two inputs whose backward is a lambda.
struct LambdaNode : Node {
  std::function<void(const Tensor&, InputGrads&)> f;
  const char* name() const override { return "lambda"; }
  void backward(const Tensor& grad, InputGrads& grads) override { f(grad, grads); }
};

Variable lambda(const Variable& a, const Variable& b, std::function<void(const Tensor&, InputGrads&)> f) {
  auto node = std::make_shared<LambdaNode>();
  node->f = std::move(f);
  return Node::record(node, {a, b}, a.value().clone());
}

TEST(UserNode, GivingNothingMeansZero) {
  Variable a = leaf({1}, {2}), b = leaf({1}, {3});
  int fired = 0;
  b.on_grad_ready([&](const Variable&) { ++fired; });
  lambda(a, b * 2.0, [](const Tensor& grad, InputGrads& grads) { grads.set(0, grad); }).backward();
  expect_close(a.grad(), {1}, 0, "a");
  expect_close(b.grad(), {0}, 0, "b");
  EXPECT_EQ(fired, 1);
}

TEST(UserNode, OwnsGradOutOnlyIfNobodyElseSeesIt) {
  Variable a = leaf({1}, {2});
  std::vector<bool> owned;
  const auto observe = [&](const Variable& x) {
    return lambda(x, {}, [&](const Tensor& grad, InputGrads& grads) {
      owned.push_back(grads.owns_grad_out());
      grads.set(0, grad);
    });
  };
  exp(observe(a)).backward();  // exp writes into fresh memory
  EXPECT_EQ(owned, std::vector<bool>{true});
  owned.clear();
  (observe(a) + observe(a)).backward();  // both are given the same tensor
  EXPECT_EQ(owned, (std::vector<bool>{false, false}));
  owned.clear();
  const Tensor seed = f64_tensor({1}, {1});
  observe(a).backward(seed);  // the caller's
  EXPECT_EQ(owned, std::vector<bool>{false});
}

TEST(UserNode, WritesOverItsGradientOnlyIfNobodyElseSeesIt) {
  Variable a = leaf({1}, {2});
  std::vector<bool> in_place;
  const auto node = [&](const Variable& x) {
    return lambda(x, {}, [&](const Tensor& grad, InputGrads& grads) {
      const Tensor& out = grads.out_in_place(0);
      in_place.push_back(out.shares_storage_with(grad));
      EXPECT_FALSE(grads.owns_grad_out() && in_place.back()) << "it has been given away";
      out.backend().unary(UnaryOp::affine, out, grad, {.alpha = 3.0});
    });
  };
  const auto gradient = [&](const Variable& y, const Tensor& seed) {
    in_place.clear();
    a.zero_grad();
    y.backward(seed);
    return a.grad().item();
  };
  const Tensor seed = f64_tensor({1}, {1});
  EXPECT_EQ(gradient(node(node(node(a * 5.0))), seed), 27 * 5);
  EXPECT_EQ(in_place, (std::vector<bool>{false, true, true})) << "the first one is the caller's";
  EXPECT_EQ(seed.item(), 1);
  const Variable h = a * 5.0;
  EXPECT_EQ(gradient(node(node(h) + node(h)), seed), 2 * 9 * 5);
  EXPECT_EQ(in_place, (std::vector<bool>{false, false, false})) << "two were given the same tensor";
  EXPECT_EQ(gradient(node(node(a)), seed), 9);
  EXPECT_EQ(in_place, (std::vector<bool>{false, false})) << "a leaf keeps its gradient";
}

TEST(UserNode, WritesOverItsGradientOnlyWhatFitsThere) {
  const Variable x = leaf({2}, {2, 3});
  // Whether inputs, the last one first, are given the memory of the gradient of `value`.
  const auto in_place = [](const Tensor& value, const std::vector<Variable>& inputs) {
    std::vector<bool> result;
    auto node = std::make_shared<LambdaNode>();
    node->f = [&](const Tensor& grad, InputGrads& grads) {
      for (std::size_t i = inputs.size(); i-- > 0;) {
        const Tensor& out = grads.out_in_place(static_cast<int>(i));
        result.push_back(out.shares_storage_with(grad));
        out.fill(1.0);
      }
    };
    sum(exp(Node::record(node, inputs, value))).backward();
    return result;
  };
  const Tensor two = f64_tensor({2}, {1, 1});
  EXPECT_EQ(in_place(two, {x * 1.0}), std::vector<bool>{true});
  EXPECT_EQ(in_place(two, {x * 1.0, x * 1.0}), (std::vector<bool>{true, false})) << "it is given away once";
  EXPECT_EQ(in_place(two, {x * 1.0, sum(x)}), (std::vector<bool>{false, true})) << "another shape";
  EXPECT_EQ(in_place(two.to(DType::f32), {x * 1.0}), std::vector<bool>{false}) << "another dtype";
  for (Backend* other : backends())
    EXPECT_EQ(in_place(two.to(*other), {x * 1.0}), std::vector<bool>{other == &two.backend()})
        << "on " << other->name();
}

TEST(UserNode, MayShareAViewOfItsOwnOutput) {
  // Input 1 is given a view of input 0's memory. Before the walk comes to input 1, another gradient is added
  // there.
  Variable a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4});
  const Tensor memory = f64_tensor({4}, {0, 0, 0, 0});
  a.bind(f64_tensor({2}, {0, 0}), memory.view(0, {2}));
  const Variable h = b * 1.0, early = a * 10.0;
  const Variable y = lambda(a, h, [](const Tensor& grad, InputGrads& grads) {
    grads.out(0).copy_from(grad);
    grads.set(1, grads.out(0));
  });
  sum(y + early).backward();
  expect_close(a.grad(), {11, 11}, 0, "a");
  expect_close(b.grad(), {1, 1}, 0, "b");
}

TEST(UserNode, WritesStraightIntoBoundMemoryThatHoldsNoGradient) {
  Variable a = leaf({2}, {1, 2});
  const Tensor memory = f64_tensor({2}, {0, 0});
  a.bind(f64_tensor({2}, {0, 0}), memory);
  bool in_place = false;
  const auto node = [&](const Tensor& grad, InputGrads& grads) {
    in_place = grads.out(0).shares_storage_with(memory);
    grads.out(0).copy_from(grad);
  };
  sum(lambda(a, {}, node)).backward();
  EXPECT_TRUE(in_place);
  sum(lambda(a, {}, node)).backward();
  EXPECT_FALSE(in_place) << "there is a gradient to add to";
  a.zero_grad();
  sum(lambda(a, {}, node)).backward();
  EXPECT_TRUE(in_place);
  expect_close(memory, {1, 1}, 0, "the last one");
}

TEST(UserNode, SeesOnlyWantedInputsAndNoRecording) {
  const Variable a = leaf({1}, {2}), constant(f64_tensor({1}, {3}));
  bool ran = false;
  lambda(a, constant, [&](const Tensor& grad, InputGrads& grads) {
    ran = true;
    EXPECT_TRUE(grads.wanted(0));
    EXPECT_FALSE(grads.wanted(1));
    EXPECT_FALSE(grad_enabled());
    EXPECT_THROW(grads.out(1), Error);
    grads.set(1, grad);  // not wanted: ignored
    grads.set(0, grad);
  }).backward();
  EXPECT_TRUE(ran);
}

TEST(UserNode, MistakesAreNamed) {
  const Variable a = leaf({2}, {1, 2}), b = leaf({2}, {1, 2});
  const auto run = [&](std::function<void(const Tensor&, InputGrads&)> f) {
    return message_of([&] { sum(lambda(a, b, f)).backward(); });
  };
  EXPECT_EQ(run([](const Tensor& grad, InputGrads& grads) { grads.set(0, grad.slice(0, 0, 1)); }),
            "[lambda] the gradient of input 0 must be f64 (2,), got f64 (1,)");
  EXPECT_EQ(run([](const Tensor&, InputGrads& grads) { grads.out(2); }),
            "[lambda] has 2 inputs, but its backward asked for input 2");
  EXPECT_EQ(run([](const Tensor&, InputGrads& grads) { grads.out_in_place(2); }),
            "[lambda] has 2 inputs, but its backward asked for input 2");
  EXPECT_EQ(run([](const Tensor& grad, InputGrads& grads) {
              grads.set(0, grad);
              grads.set(0, grad);
            }),
            "[lambda] the gradient of input 0 was given twice");
  EXPECT_EQ(run([](const Tensor& grad, InputGrads& grads) {
              grads.set_range(0, {0, 1, 2}, grad);
            }),
            "[lambda] the gradient of input 0 must be f64 (1,), got f64 (2,)");
  EXPECT_EQ(run([](const Tensor& grad, InputGrads& grads) {
              grads.set_range(0, {0, 1, 3}, grad);
            }),
            "[slice] elements 1 to 3 of axis 0 of shape (2,)");
}

TEST(UserNode, MayGiveARangeOfAnInput) {
  const Variable a = leaf({3}, {1, 2, 3}), b = leaf({3}, {1, 2, 3});
  for (const bool is_leaf : {true, false}) {
    const Variable x = is_leaf ? a : a * 1.0;
    sum(lambda(x, b,
               [](const Tensor& grad, InputGrads& grads) {
                 // A view of memory that the next line's sum changes.
                 const Tensor& of_b = grads.out(1);
                 of_b.copy_from(grad);
                 grads.set_range(0, {0, 1, 3}, of_b.slice(0, 0, 2));
               }) +
        x * 2.0)
        .backward();
  }
  expect_close(a.grad(), {4, 6, 6}, 0, "of both");
  expect_close(b.grad(), {2, 2, 2}, 0, "of the other");
}

TEST(UserNode, RecordsOneOperationOnly) {
  const Variable a = leaf({1}, {2});
  auto node = std::make_shared<Cube>();
  node->x = a.value();
  const Variable y = Node::record(node, {a}, a.value().clone());
  EXPECT_EQ(message_of([&] { Node::record(node, {a}, a.value().clone()); }),
            "[record] each operation needs a node of its own");
}

}  // namespace
}  // namespace ronde::test
