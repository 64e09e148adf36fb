// Elementwise functions of one variable: values against <cmath>, gradients against finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

struct UnaryCase {
  const char* name;
  Variable (*op)(const Variable&);
  double (*value)(double);
  double low, high;  // where it is smooth, or at least defined
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

const UnaryCase kUnaryCases[] = {
    {"negate", [](const Variable& x) { return -x; }, [](double x) { return -x; }, -2, 2},
    {"exp", exp, [](double x) { return std::exp(x); }, -2, 2},
    {"log", log, [](double x) { return std::log(x); }, 0.5, 3},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.5, 3},
    {"square", square, [](double x) { return x * x; }, -2, 2},
    {"abs", abs, [](double x) { return std::abs(x); }, -2, 2},
    {"pow3", [](const Variable& x) { return pow(x, 3); }, [](double x) { return x * x * x; }, -2, 2},
    {"pow_half", [](const Variable& x) { return pow(x, -0.5); }, [](double x) { return 1 / std::sqrt(x); },
     0.5, 3},
    {"clamp", [](const Variable& x) { return clamp(x, -0.6, 0.9); },
     [](double x) { return std::min(std::max(x, -0.6), 0.9); }, -2, 2},
    {"relu", relu, [](double x) { return x > 0 ? x : 0; }, -2, 2},
    {"leaky_relu", [](const Variable& x) { return leaky_relu(x); },
     [](double x) { return x > 0 ? x : 0.3 * x; }, -2, 2},
    {"leaky_relu_steep", [](const Variable& x) { return leaky_relu(x, -2.0); },
     [](double x) { return x > 0 ? x : -2.0 * x; }, -2, 2},
    {"elu", [](const Variable& x) { return elu(x, 1.5); },
     [](double x) { return x > 0 ? x : 1.5 * (std::exp(x) - 1); }, -2, 2},
    {"gelu", gelu, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, -3, 3},
    {"silu", silu, [](double x) { return x * logistic(x); }, -3, 3},
    {"sigmoid", sigmoid, logistic, -3, 3},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, -2, 2},
    {"sin", sin, [](double x) { return std::sin(x); }, -4, 4},
    {"cos", cos, [](double x) { return std::cos(x); }, -4, 4},
    {"softplus", softplus, [](double x) { return std::log(1 + std::exp(x)); }, -3, 3},
    {"softsign", softsign, [](double x) { return x / (1 + std::abs(x)); }, -2, 2},
    {"selu", selu,
     [](double x) { return 1.05070098735548 * (x > 0 ? x : 1.67326324235437 * (std::exp(x) - 1)); }, -2, 2},
    {"plus", [](const Variable& x) { return 2.0 + (x + 3.0); }, [](double x) { return x + 5; }, -2, 2},
    {"minus", [](const Variable& x) { return 2.0 - (x - 3.0); }, [](double x) { return 5 - x; }, -2, 2},
    {"times", [](const Variable& x) { return 2.0 * (x * 3.0); }, [](double x) { return 6 * x; }, -2, 2},
    {"divided", [](const Variable& x) { return 2.0 / (x / 3.0); }, [](double x) { return 6 / x; }, 0.5, 3},
};

class Unary : public ::testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, ValueAndGradient) {
  const UnaryCase& c = GetParam();
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{0, 4}}) {
    const Tensor x = random_tensor(shape, 11, c.low, c.high);
    std::vector<double> expected = x.to_vector<double>();
    for (double& value : expected) value = c.value(value);
    expect_close(c.op(x).value(), expected, 1e-14, c.name);
    expect_gradients([&](const Variables& v) { return c.op(v[0]); }, {x});
  }
}

TEST_P(Unary, OfAView) {
  const UnaryCase& c = GetParam();
  expect_gradients(
      [&](const Variables& v) {
        return c.op(slice(permute(v[0], {1, 0}), 0, 1, 3));
      },
      {random_tensor({3, 4}, 12, c.low, c.high)});
}

INSTANTIATE_TEST_SUITE_P(Ops, Unary, ::testing::ValuesIn(kUnaryCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Unary, OneTensorUsedByManyFunctions) {
  expect_gradients(
      [](const Variables& v) {
        return exp(v[0]) + square(v[0]) * sigmoid(v[0]) - tanh(v[0]) / (2.0 + silu(v[0]));
      },
      {random_tensor({2, 3})});
}

TEST(Unary, GradientAtTheCorners) {
  Variable x = Variable::parameter(f64_tensor({3}, {-1, 0, 1}));
  sum(abs(x) + relu(x)).backward();
  expect_close(x.grad(), {-1, 0, 2}, 0, "abs and relu");
}

TEST(Unary, SayWhatIsWrong) {
  EXPECT_THROW(clamp(f64_tensor({1}, {0}), 2, 1), UsageError);
  EXPECT_THROW(relu(Variable()), Error);
  try {
    exp(i32_tensor({1, 2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[exp] expects a floating dtype, got i32 (2,)");
  }
}

}  // namespace
}  // namespace ronde::test
