// Functions of two variables with broadcasting.
#include <gtest/gtest.h>

#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

struct BinaryCase {
  const char* name;
  Variable (*op)(const Variable&, const Variable&);
  double (*value)(double, double);
};

const BinaryCase kBinaryCases[] = {
    {"add", [](const Variable& a, const Variable& b) { return a + b; },
     [](double a, double b) { return a + b; }},
    {"subtract", [](const Variable& a, const Variable& b) { return a - b; },
     [](double a, double b) { return a - b; }},
    {"multiply", [](const Variable& a, const Variable& b) { return a * b; },
     [](double a, double b) { return a * b; }},
    {"divide", [](const Variable& a, const Variable& b) { return a / b; },
     [](double a, double b) { return a / b; }},
    {"maximum", maximum, [](double a, double b) { return a > b ? a : b; }},
    {"minimum", minimum, [](double a, double b) { return a < b ? a : b; }},
    {"add_relu", add_relu, [](double a, double b) { return a + b > 0 ? a + b : 0.0; }},
};

class Binary : public ::testing::TestWithParam<BinaryCase> {};

TEST_P(Binary, Value) {
  const Tensor a = random_tensor({2, 1, 3}, 1), b = random_tensor({4, 1}, 2, 0.5, 2);
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  std::vector<double> expected;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 3; ++k) expected.push_back(GetParam().value(x[i * 3 + k], y[j]));
  const Variable result = GetParam().op(a, b);
  EXPECT_EQ(result.shape(), (Shape{2, 4, 3}));
  expect_close(result.value(), expected, 1e-15, GetParam().name);
}

TEST_P(Binary, Gradient) {
  const std::pair<Shape, Shape> shapes[] = {
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{3}, {2, 3}},    {{2, 1, 3}, {4, 1}}, {{}, {2, 2}},     {{}, {}},
      {{1, 1}, {1, 1}}, {{0, 3}, {3}}, {{0, 3}, {0, 1}}, {{1}, {0}},          {{5, 1}, {1, 7}}, {{1, 3}, {3}},
  };
  for (const auto& [a, b] : shapes)
    expect_gradients([&](const Variables& v) { return GetParam().op(v[0], v[1]); },
                     {random_tensor(a, 3), random_tensor(b, 4, 0.5, 2)});
}

TEST_P(Binary, OfViewsAndOfTheSameVariableTwice) {
  expect_gradients(
      [&](const Variables& v) {
        const Variable h = GetParam().op(permute(v[0], {1, 0}), slice(v[0], 0, 0, 1));
        return GetParam().op(h, h) + GetParam().op(v[0], broadcast_to(v[1], {3, 3}));
      },
      {random_tensor({3, 3}, 5, 0.5, 3), random_tensor({3, 1}, 6, 0.5, 3)}, {.tolerance = 1e-6});
}

TEST_P(Binary, SaysWhatDoesNotFit) {
  const auto message = [](const Variable& a, const Variable& b) {
    return message_of([&] { GetParam().op(a, b); });
  };
  const Tensor a = f64_tensor({2}, {1, 2});
  EXPECT_EQ(message(a, f64_tensor({3}, {1, 2, 3})), "[broadcast] shapes (2,) and (3,) do not fit");
  EXPECT_EQ(message(a, a.to(DType::f32)),
            cat("[", GetParam().name, "] inputs differ in dtype: f64 (2,) and f32 (2,)"));
}

INSTANTIATE_TEST_SUITE_P(Ops, Binary, ::testing::ValuesIn(kBinaryCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Arithmetic, TheSameLeafTwiceInOneOperation) {
  for (const bool bound : {false, true}) {
    Variable x = Variable::parameter(f64_tensor({2}, {3, 5}));
    if (bound) x.bind(f64_tensor({2}, {0, 0}), f64_tensor({2}, {NAN, NAN}));
    sum(x * x).backward();
    expect_close(x.grad(), {6, 10}, 0, "x * x");
    x.zero_grad();
    sum(x - x).backward();
    expect_close(x.grad(), {0, 0}, 0, "x - x");
    x.zero_grad();
    sum(x / x).backward();
    expect_close(x.grad(), {0, 0}, 1e-16, "x / x");
    x.zero_grad();
    sum(maximum(x, x)).backward();
    expect_close(x.grad(), {1, 1}, 0, "maximum(x, x)");
  }
}

// Of a gradient that nobody else sees, which is overwritten, and of one that others see.
TEST(Arithmetic, AddReluSharesItsGradient) {
  const std::vector<Tensor> inputs{random_tensor({3, 4}, 7), random_tensor({3, 4}, 8)};
  expect_gradients([](const Variables& v) { return square(add_relu(v[0] * v[1], v[1])) * v[0]; }, inputs);
  expect_gradients(
      [](const Variables& v) {
        const Variable y = add_relu(v[0], v[1]);
        return add_relu(y + v[0], y * v[1]) + y;
      },
      inputs);
}

TEST(Arithmetic, EqualElementsShareTheGradientOfMaximumAndMinimum) {
  Variable a = Variable::parameter(f64_tensor({3}, {1, 2, 3}));
  Variable b = Variable::parameter(f64_tensor({3}, {1, 1, 4}));
  sum(maximum(a, b) * 2.0 + minimum(a, b) * 6.0).backward();
  expect_close(a.grad(), {4, 2, 6}, 0, "a");
  expect_close(b.grad(), {4, 6, 2}, 0, "b");
}

TEST(Arithmetic, DivisionByANumberIsExact) {
  const Tensor x = Tensor::from<float>({3}, {1, 5, 7}, &backend("cpu"));
  const std::vector<float> y = (Variable(x) / 3.0).value().to_vector<float>();
  EXPECT_EQ(y, (std::vector<float>{1.0f / 3.0f, 5.0f / 3.0f, 7.0f / 3.0f}));
}

}  // namespace
}  // namespace ronde::test
