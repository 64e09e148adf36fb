#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

using Reduction = Variable (*)(const Variable&, ReduceOptions);

const Reduction kReductions[] = {sum, mean, max, min};

TEST(Reductions, Values) {
  const Tensor x = f64_tensor({2, 3}, {1, 2, 6, 4, -5, 3});
  EXPECT_EQ(sum(x).item(), 11);
  EXPECT_EQ(sum(x).shape(), Shape{});
  expect_close(sum(x, {.axes = {0}}).value(), {5, -3, 9}, 0, "sum over rows");
  expect_close(mean(x, {.axes = {-1}}).value(), {3, 2.0 / 3.0}, 1e-15, "mean of rows");
  expect_close(max(x, {.axes = {1}}).value(), {6, 4}, 0, "max of rows");
  expect_close(min(x, {.axes = {0}}).value(), {1, -5, 3}, 0, "min of columns");
  EXPECT_EQ(max(x).item(), 6);
  EXPECT_EQ(min(x).item(), -5);
}

TEST(Reductions, Shapes) {
  const Tensor x = random_tensor({2, 3, 4});
  for (const Reduction f : kReductions) {
    EXPECT_EQ(f(x, {}).shape(), Shape{});
    EXPECT_EQ(f(x, {.keep_dims = true}).shape(), (Shape{1, 1, 1}));
    EXPECT_EQ(f(x, {.axes = {1}}).shape(), (Shape{2, 4}));
    EXPECT_EQ(f(x, {.axes = {0, -1}}).shape(), (Shape{3}));
    EXPECT_EQ(f(x, {.axes = {0, -1}, .keep_dims = true}).shape(), (Shape{1, 3, 1}));
    EXPECT_EQ(f(x, {.axes = {0, 1, 2}}).shape(), Shape{});
  }
}

TEST(Reductions, Gradients) {
  const ReduceOptions options[] = {{},
                                   {.axes = {0}},
                                   {.axes = {-1}},
                                   {.axes = {0, 2}},
                                   {.keep_dims = true},
                                   {.axes = {1, 2}, .keep_dims = true}};
  for (const Reduction f : kReductions)
    for (const ReduceOptions& o : options)
      for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 3, 1}, Shape{5, 1, 2}})
        expect_gradients([&](const Variables& v) { return f(v[0], o) * 2.0; }, {random_tensor(shape, 3)});
}

TEST(Reductions, VarianceAndLogSumExp) {
  const Tensor x = f64_tensor({2, 3}, {1, 2, 6, 4, -5, 4});
  expect_close(variance(x, {.axes = {1}}).value(), {14.0 / 3, 18}, 1e-14, "variance of rows");
  EXPECT_NEAR(variance(x).item(), 74.0 / 6, 1e-13);
  expect_close(log_sum_exp(x, {.axes = {0}, .keep_dims = true}).value(),
               {std::log(std::exp(1) + std::exp(4)), std::log(std::exp(2) + std::exp(-5)),
                std::log(std::exp(6) + std::exp(4))},
               1e-14, "log_sum_exp of columns");
  EXPECT_EQ(log_sum_exp(x, {.axes = {0}, .keep_dims = true}).shape(), (Shape{1, 3}));
  for (const auto& f : {variance, log_sum_exp})
    for (const ReduceOptions& o : {ReduceOptions{}, {.axes = {-1}}, {.axes = {0, 2}, .keep_dims = true}})
      expect_gradients([&](const Variables& v) { return f(v[0], o); }, {random_tensor({2, 3, 4}, 5)});
}

TEST(Reductions, LogSumExpOfExtremes) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(log_sum_exp(f64_tensor({2}, {2000, 2000})).item(), 2000 + std::log(2.0), 1e-10);
  EXPECT_EQ(log_sum_exp(f64_tensor({2}, {-kInf, -kInf})).item(), -kInf);
  EXPECT_EQ(log_sum_exp(f64_tensor({2}, {1, kInf})).item(), kInf);
  EXPECT_EQ(log_sum_exp(f64_tensor({2}, {-kInf, 3})).item(), 3);
  EXPECT_TRUE(std::isnan(log_sum_exp(f64_tensor({2}, {std::nan(""), 3})).item()));
  // What is the largest number depends on the type.
  const Variable far = Variable::parameter(f64_tensor({2}, {1e300, 3}));
  const Variable y = log_sum_exp(far);
  EXPECT_EQ(y.item(), 1e300);
  y.backward();
  EXPECT_EQ(far.grad().to_vector<double>(), (std::vector<double>{1, 0}));
  for (const DType dtype : {DType::f32, DType::bf16}) {
    EXPECT_EQ(log_sum_exp(f64_tensor({2}, {-kInf, -kInf}).to(dtype)).item(), -kInf) << to_string(dtype);
    EXPECT_EQ(log_sum_exp(f64_tensor({2}, {1, kInf}).to(dtype)).item(), kInf) << to_string(dtype);
    EXPECT_EQ(log_sum_exp(f64_tensor({2}, {-kInf, 3}).to(dtype)).item(), 3) << to_string(dtype);
  }
}

TEST(Argmax, FirstLargestOfEachRow) {
  const Tensor x = f64_tensor({2, 2, 3}, {1, 3, 2, 7, 7, 0, -2, -3, -1, 0, 0, 5});
  const Tensor best = argmax(x);
  EXPECT_EQ(best.shape(), (Shape{2, 2}));
  EXPECT_EQ(best.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 2, 2}));
  EXPECT_EQ(argmax(f64_tensor({2, 3}, {1, 9, 2, 8, 0, 9}).permute({1, 0})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(argmax(f64_tensor({2}, {1, 3})).shape(), Shape{});
  EXPECT_NE(message_of([] { argmax(f64_tensor({2, 0}, {})); }).find("(2, 0)"), std::string::npos);
}

TEST(OneHot, OfLabels) {
  const Tensor rows = one_hot(i32_tensor({2, 0, 3, -1}), 3);
  EXPECT_EQ(rows.shape(), (Shape{4, 3}));
  EXPECT_EQ(rows.dtype(), DType::f32);
  expect_close(rows, {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 0, "one_hot");
  EXPECT_EQ(one_hot(Tensor::zeros({2, 5}, {.dtype = DType::u8}), 4).shape(), (Shape{2, 5, 4}));
  EXPECT_NE(message_of([] { one_hot(Tensor::zeros({3}), 4); }).find("f32 (3,)"), std::string::npos);
  EXPECT_NE(message_of([] { one_hot(i32_tensor({0}), 0); }).find("classes"), std::string::npos);
}

TEST(Reductions, OfViewsAndScalars) {
  for (const Reduction f : kReductions) {
    expect_gradients(
        [&](const Variables& v) {
          return f(permute(v[0], {2, 0, 1}), {.axes = {0}}) * f(v[0], {});
        },
        {random_tensor({2, 3, 4}, 8)});
    expect_gradients([&](const Variables& v) { return f(v[0], {}); }, {random_tensor({}, 8)});
  }
}

TEST(Reductions, OfAnEmptyBatch) {
  const Tensor none = random_tensor({0, 3});
  EXPECT_EQ(sum(none).item(), 0);
  expect_close(sum(none, {.axes = {0}}).value(), {0, 0, 0}, 0, "sum");
  for (const Reduction f : kReductions) {
    EXPECT_EQ(f(none, {.axes = {1}}).shape(), Shape{0});
    Variable x = Variable::parameter(none);
    sum(f(x, {.axes = {1}})).backward();
    EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
    f(x, {.axes = {0}}).backward(random_tensor({3}));
  }
}

TEST(Reductions, TiesShareTheGradient) {
  Variable x = Variable::parameter(f64_tensor({2, 3}, {4, 1, 4, 2, 2, 2}));
  sum(max(x, {.axes = {1}})).backward();
  expect_close(x.grad(), {0.5, 0, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-15, "max");
  x.zero_grad();
  min(x).backward();
  expect_close(x.grad(), {0, 1, 0, 0, 0, 0}, 0, "min");
}

TEST(Reductions, SayWhichAxisIsWrong) {
  try {
    mean(random_tensor({2, 3}), {.axes = {2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[mean] axis 2 of shape (2, 3)");
  }
}

}  // namespace
}  // namespace ronde::test
