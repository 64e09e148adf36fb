// DenseSteps against dense, step by step.
#include <gtest/gtest.h>

#include <ronde/core/dense_steps.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

/// A small recurrent net of x (steps, n, units), weight (units, units), bias (units): all its states.
template <class Product>
Variable states(const Variables& v, Product&& product) {
  Variable state = Tensor::zeros({v[0].size(1), v[0].size(2)}, v[0].value().options());
  std::vector<Variable> all;
  for (const Variable& x : unstack(v[0])) all.push_back(state = tanh(x + product(state)));
  return stack(all);
}

Variable with_steps(const Variables& v) {
  return states(v, DenseSteps(v[1], v[2], v[0].size(0)));
}

std::vector<Tensor> inputs(std::int64_t steps) {
  return {random_tensor({steps, 2, 3}, 1), random_tensor({3, 3}, 2), random_tensor({3}, 3)};
}

TEST(DenseSteps, GiveWhatDenseGives) {
  const std::vector<Tensor> x = inputs(5);
  const auto by_dense = [](const Variables& v) {
    return states(v, [&](const Variable& state) { return dense(state, v[1], v[2]); });
  };
  const Variables v(x.begin(), x.end());
  EXPECT_EQ(with_steps(v).value().to_vector<double>(), by_dense(v).value().to_vector<double>());
  const Tensor seed = random_tensor({5, 2, 3}, 4);
  const std::vector<Tensor> gradients = backward_gradients(with_steps, x, seed, {});
  const std::vector<Tensor> expected = backward_gradients(by_dense, x, seed, {});
  for (std::size_t i = 0; i < x.size(); ++i)
    expect_close(gradients[i], expected[i].to_vector<double>(), 1e-14, "input " + std::to_string(i));
}

TEST(DenseSteps, Gradients) {
  expect_gradients(with_steps, inputs(4));
  expect_gradients(with_steps, inputs(1));
  // Fewer steps than there is room for, the last of which nobody reads; the first one's input has a gradient.
  expect_gradients(
      [](const Variables& v) {
        DenseSteps product(v[1], {}, 7);
        const Variable y = product(tanh(product(v[0])));
        product(y);
        return y;
      },
      {random_tensor({2, 3}, 1), random_tensor({3, 3}, 2)});
}

TEST(DenseSteps, RecordNothingThatNobodyWants) {
  DenseSteps product(random_tensor({3, 4}), {}, 1);
  EXPECT_FALSE(product(random_tensor({2, 3})).requires_grad());
  const NoGrad no_grad;
  DenseSteps of_leaf(Variable::parameter(random_tensor({3, 4})), {}, 2);
  EXPECT_FALSE(of_leaf(random_tensor({2, 3})).requires_grad());
  const EnableGrad grad;
  EXPECT_EQ(message_of([&] {
              of_leaf(random_tensor({2, 3}));
            }),
            "[dense_steps] the first step was not recorded");
}

TEST(DenseSteps, SayWhatDoesNotFit) {
  DenseSteps product(Variable::parameter(random_tensor({3, 4})), {}, 2);
  EXPECT_EQ(message_of([&] {
              product(random_tensor({2, 5}));
            }),
            "[dense_steps] weight expects 3 inputs, got 5");
  product(random_tensor({2, 3}));
  EXPECT_EQ(message_of([&] {
              product(random_tensor({1, 3}));
            }),
            "[dense_steps] the first step had 2 rows, step 1 has 1");
  product(random_tensor({2, 3}));
  EXPECT_EQ(message_of([&] { product(random_tensor({2, 3})); }), "[dense_steps] was made for 2 steps");
}

}  // namespace
}  // namespace ronde::test
