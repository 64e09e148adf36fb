#include <gtest/gtest.h>

#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

// The formula, by other operations.
Variable spelled_out(const Variables& v, const GroupNormParams& params) {
  const Variable& x = v[0];
  const std::int64_t n = x.size(0), c = x.size(-1);
  const Variable grouped = reshape(x, {n, -1, params.groups, c / params.groups});
  const ReduceOptions of_group{.axes = {1, 3}, .keep_dims = true};
  const Variable deviation = sqrt(variance(grouped, of_group) + params.epsilon);
  return reshape((grouped - mean(grouped, of_group)) / deviation, x.shape()) * v[1] + v[2];
}

TEST(GroupNormOp, Values) {
  // Two samples of two positions, two groups of two channels.
  const Tensor x = f64_tensor({2, 2, 4}, {1, 3, 10, 40, 5, 7, 20, 30, 2, 2, 0, 0, 2, 2, 1, 1});
  const double s = 1 / std::sqrt(5.5), t = 1 / std::sqrt(125.5), u = 0.5 / std::sqrt(0.75);
  const GroupNormParams params{.groups = 2, .epsilon = 0.5};
  expect_close(group_norm(x, {}, {}, params).value(),
               {-3 * s, -s, -15 * t, 15 * t, s, 3 * s, -5 * t, 5 * t, 0, 0, -u, -u, 0, 0, u, u}, 1e-14,
               "plain");
  const Tensor gamma = f64_tensor({4}, {2, 1, 1, -1}), beta = f64_tensor({4}, {0, 5, 0, 1});
  expect_close(group_norm(x, gamma, beta, params).value(),
               {-6 * s, 5 - s, -15 * t, 1 - 15 * t, 2 * s, 5 + 3 * s, -5 * t, 1 - 5 * t, 0, 5, -u, 1 + u, 0,
                5, u, 1 - u},
               1e-14, "all");
}

TEST(GroupNormOp, Gradients) {
  for (const Shape& shape :
       {Shape{3, 6}, Shape{2, 5, 6}, Shape{2, 2, 3, 4}, Shape{2, 65, 2}, Shape{1, 8, 8, 4}})
    for (const std::int64_t groups : {1, 2, static_cast<int>(shape.back())}) {
      const Tensor x = random_tensor(shape, 1, -2, 2);
      const Tensor gamma = random_tensor({shape.back()}, 2), beta = random_tensor({shape.back()}, 3);
      const GroupNormParams params{.groups = groups, .epsilon = 0.01};
      expect_gradients([&](const Variables& v) { return group_norm(v[0], v[1], v[2], params); },
                       {x, gamma, beta});
      expect_gradients([&](const Variables& v) { return group_norm(v[0], v[1], {}, params); }, {x, gamma});
      expect_gradients([&](const Variables& v) { return group_norm(v[0], {}, v[1], params); }, {x, beta});
      expect_gradients([&](const Variables& v) { return group_norm(v[0], {}, {}, params); }, {x});
      expect_gradients([&](const Variables& v) { return group_norm(x, v[0], {}, params); }, {gamma});
    }
}

// Samples one by one, some at a time, all at once, and of few positions.
TEST(GroupNormOp, SamplesOfAnySizeGiveTheSame) {
  for (const auto& [shape, dtype] : {std::pair{Shape{3, 1100, 64}, DType::f64},
                                     {Shape{5, 20, 15, 64}, DType::f64},
                                     {Shape{9, 3, 32}, DType::f64},
                                     {Shape{3, 1100, 64}, DType::f32},
                                     {Shape{5, 20, 15, 64}, DType::f32}})
    for (const std::int64_t groups : {1, 8, 32}) {
      SCOPED_TRACE(cat(shape, " of ", dtype, " in ", groups));
      const GroupNormParams params{.groups = groups, .epsilon = 0.01};
      const Tensor inputs[] = {random_tensor(shape, 1, -1, 4), random_tensor({shape.back()}, 2),
                               random_tensor({shape.back()}, 3)};
      Backend& where = dtype == DType::f64 ? backend("cpu") : default_backend();
      Variables v, w;
      for (const Tensor& input : inputs) {
        v.push_back(Variable::parameter(input.to(dtype).to(where)));
        w.push_back(Variable::parameter(input.clone()));
      }
      const Variable y = group_norm(v[0], v[1], v[2], params), expected = spelled_out(w, params);
      const Tensor seed = random_tensor(shape, 4);
      y.backward(seed.to(dtype).to(where));
      expected.backward(seed);
      const double tolerance = dtype == DType::f64 ? 1e-11 : 2e-5;
      expect_close(y.value(), expected.value().to_vector<double>(), tolerance, "values");
      for (std::size_t i = 0; i < v.size(); ++i)
        expect_close(v[i].grad(), w[i].grad().to_vector<double>(), tolerance, cat("gradient ", i));
    }
}

TEST(GroupNormOp, OfAView) {
  const Tensor x = random_tensor({6, 2, 4}, 1, -2, 2);
  const Tensor view = x.permute({1, 2, 0}), copy = view.clone();
  EXPECT_EQ(group_norm(view, {}, {}, {.groups = 2}).value().to_vector<double>(),
            group_norm(copy, {}, {}, {.groups = 2}).value().to_vector<double>());
}

TEST(GroupNormOp, OfBf16IsThatOfF32) {
  const Tensor x = random_tensor({2, 5, 8}, 1, 900, 950).to(DType::bf16), gamma = random_tensor({8}, 2);
  const Tensor wide = x.to(DType::f32), scale = gamma.to(DType::f32);
  const Variable y = group_norm(x, scale, {}, {.groups = 2});
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(y.value().to_vector<double>(),
            group_norm(wide, scale, {}, {.groups = 2}).value().to(DType::bf16).to_vector<double>());
}

TEST(GroupNormOp, BadArguments) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  for (const std::int64_t groups : {0, 3, 8})
    EXPECT_EQ(message_of([&] { group_norm(x, {}, {}, {.groups = groups}); }),
              cat("[group_norm] 4 channels cannot be split into ", groups, " groups"));
  EXPECT_EQ(message_of([&] { group_norm(x, random_tensor({3}, 1), {}, {.groups = 2}); }),
            "[group_norm] gamma must be (4,) for an input of shape (2, 3, 4), got shape (3,)");
  EXPECT_EQ(message_of([&] { group_norm(x, {}, random_tensor({2}, 1), {.groups = 2}); }),
            "[group_norm] beta must be (4,) for an input of shape (2, 3, 4), got shape (2,)");
  EXPECT_EQ(message_of([&] { group_norm(random_tensor({4}, 1), {}, {}, {.groups = 2}); }),
            "[group_norm] input must be (n, ..., c), got shape (4,)");
}

TEST(GroupNormOp, OfNoSamples) {
  for (const std::int64_t positions : {3, 100}) {
    Variable gamma(f64_tensor({2}, {2, 1}));
    gamma.set_requires_grad(true);
    const Variable x = Variable::parameter(f64_tensor({0, positions, 2}, {}));
    const Variable y = group_norm(x, gamma, {}, {.groups = 1});
    EXPECT_EQ(y.shape(), (Shape{0, positions, 2}));
    sum(y).backward();
    EXPECT_EQ(gamma.grad().to_vector<double>(), (std::vector<double>{0, 0}));
  }
}

}  // namespace
}  // namespace ronde::test
