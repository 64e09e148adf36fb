#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

struct UnaryCase {
  const char* name;
  UnaryOp op;
  UnaryParams params;
  double (*function)(double);
  double low = -2, high = 2;
};

// gelu's reference is the integral of the normal density, by Simpson's rule.
double gelu_by_integration(double x) {
  constexpr int kSteps = 2000;
  const double h = x / kSteps;
  double area = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double weight = i == 0 || i == kSteps ? 1 : (i % 2 == 1 ? 4 : 2);
    area += weight * std::exp(-0.5 * (i * h) * (i * h));
  }
  return x * (0.5 + area * h / 3 / std::sqrt(2 * std::acos(-1.0)));
}

const UnaryCase kUnaryCases[] = {
    {"affine", UnaryOp::affine, {-3, 0.5}, [](double x) { return 0.5 - 3 * x; }},
    {"relu", UnaryOp::relu, {}, [](double x) { return (x + std::abs(x)) / 2; }},
    {"leaky_relu",
     UnaryOp::leaky_relu,
     {0.3, 0},
     [](double x) { return std::fmax(x, 0) + 0.3 * std::fmin(x, 0); }},
    {"elu", UnaryOp::elu, {1.5, 0}, [](double x) { return x > 0 ? x : 1.5 * (std::exp(x) - 1); }},
    {"gelu", UnaryOp::gelu, {}, gelu_by_integration},
    {"silu", UnaryOp::silu, {}, [](double x) { return x / (1 + std::exp(-x)); }},
    {"sigmoid", UnaryOp::sigmoid, {}, [](double x) { return 0.5 + 0.5 * std::tanh(x / 2); }},
    {"tanh", UnaryOp::tanh, {}, [](double x) { return 1 - 2 / (std::exp(2 * x) + 1); }},
    {"exp", UnaryOp::exp, {}, [](double x) { return std::pow(std::exp(1.0), x); }},
    {"log", UnaryOp::log, {}, [](double x) { return std::log2(x) / std::log2(std::exp(1.0)); }, 0.2, 3},
    {"sqrt", UnaryOp::sqrt, {}, [](double x) { return std::pow(x, 0.5); }, 0.2, 3},
    {"square", UnaryOp::square, {}, [](double x) { return x * x; }},
    {"abs", UnaryOp::abs, {}, [](double x) { return x < 0 ? -x : x; }},
    {"power", UnaryOp::power, {2.5, 0}, [](double x) { return x * x * std::sqrt(x); }, 0.2, 3},
    {"clamp", UnaryOp::clamp, {-0.5, 0.75}, [](double x) { return std::fmin(std::fmax(x, -0.5), 0.75); }},
    {"clipped_relu",
     UnaryOp::clipped_relu,
     {0.5, 0},
     [](double x) { return std::fmin(std::fmax(x, 0), 0.5); }},
    {"softplus", UnaryOp::softplus, {}, [](double x) { return std::log(1 + std::exp(x)); }},
    {"sin", UnaryOp::sin, {}, [](double x) { return 2 * std::sin(x / 2) * std::cos(x / 2); }},
    {"cos", UnaryOp::cos, {}, [](double x) { return 1 - 2 * std::sin(x / 2) * std::sin(x / 2); }},
};

Values points(const UnaryCase& c, std::int64_t count) {
  Values x = random_values(count, 3);
  for (double& v : x) v = c.low + (v + 1) / 2 * (c.high - c.low);
  return x;
}

TEST(CpuElementwise, FunctionsOfOneTensor) {
  CpuBackend cpu;
  for (const UnaryCase& c : kUnaryCases)
    for_each_real([&](DType dtype) {
      SCOPED_TRACE(c.name);
      const Tensor x = tensor(cpu, {7, 5}, points(c, 35), dtype);
      const Tensor y = unwritten(cpu, {7, 5}, dtype);
      cpu.unary(c.op, y, x, c.params);
      Values expected = x.to_vector<double>();
      for (double& v : expected) v = c.function(v);
      expect_close(y, expected);
    });
}

TEST(CpuElementwise, DerivativesMatchFiniteDifferences) {
  CpuBackend cpu;
  for (const UnaryCase& c : kUnaryCases) {
    SCOPED_TRACE(c.name);
    const Values at = points(c, 40), g = random_values(40, 4);
    const Tensor x = tensor(cpu, {40}, at), grad_y = tensor(cpu, {40}, g);
    const Tensor y = Tensor::empty_like(x), grad_x = unwritten(cpu, {40}, DType::f64);
    cpu.unary(c.op, y, x, c.params);
    cpu.unary_backward(c.op, grad_x, grad_y, x, y, c.params);
    const Values got = grad_x.to_vector<double>();
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < at.size(); ++i)
      EXPECT_NEAR(got[i], g[i] * (c.function(at[i] + kStep) - c.function(at[i] - kStep)) / (2 * kStep), 1e-7)
          << "at " << at[i];
  }
}

TEST(CpuElementwise, DerivativesNeedOnlyWhatTheyRead) {
  CpuBackend cpu;
  for (const UnaryCase& c : kUnaryCases) {
    SCOPED_TRACE(c.name);
    const Tensor x = tensor(cpu, {9}, points(c, 9)), y = Tensor::empty_like(x);
    const Tensor both = Tensor::empty_like(x), one = unwritten(cpu, {9}, DType::f64);
    const Tensor grad_y = random_tensor(cpu, {9}, DType::f64, 8);
    cpu.unary(c.op, y, x, c.params);
    cpu.unary_backward(c.op, both, grad_y, x, y, c.params);
    const bool from_y = c.op == UnaryOp::relu || c.op == UnaryOp::clipped_relu || c.op == UnaryOp::sigmoid ||
                        c.op == UnaryOp::tanh || c.op == UnaryOp::exp || c.op == UnaryOp::sqrt;
    cpu.unary_backward(c.op, one, grad_y, from_y ? Tensor() : x, from_y ? y : Tensor(), c.params);
    EXPECT_EQ(one.to_vector<double>(), both.to_vector<double>());
  }
}

TEST(CpuElementwise, DerivativesWhereThereAreTwo) {
  CpuBackend cpu;
  const Tensor grad_y = tensor(cpu, {1}, {1}), grad_x = tensor(cpu, {1}, {9});
  const auto at = [&](UnaryOp op, double point, UnaryParams params) {
    const Tensor x = tensor(cpu, {1}, {point}), y = Tensor::empty_like(x);
    cpu.unary(op, y, x, params);
    cpu.unary_backward(op, grad_x, grad_y, x, y, params);
    return grad_x.item();
  };
  EXPECT_EQ(at(UnaryOp::relu, 0, {}), 0);
  EXPECT_EQ(at(UnaryOp::abs, 0, {}), 0);
  EXPECT_EQ(at(UnaryOp::clamp, -0.5, {-0.5, 0.75}), 1);
  EXPECT_EQ(at(UnaryOp::clamp, 0.75, {-0.5, 0.75}), 1);
  EXPECT_EQ(at(UnaryOp::clipped_relu, 0, {6, 0}), 0);
  EXPECT_EQ(at(UnaryOp::clipped_relu, 6, {6, 0}), 0);
  EXPECT_EQ(at(UnaryOp::power, 0, {0, 0}), 0);
  EXPECT_EQ(at(UnaryOp::power, 0, {1, 0}), 1);
}

TEST(CpuElementwise, ExtremesNeitherOverflowNorHideNan) {
  CpuBackend cpu;
  const Tensor x = tensor(cpu, {3}, {-1000, 1000, std::nan("")}), y = Tensor::empty_like(x);
  for (const UnaryOp op : {UnaryOp::sigmoid, UnaryOp::silu, UnaryOp::relu, UnaryOp::elu, UnaryOp::gelu,
                           UnaryOp::clamp, UnaryOp::clipped_relu, UnaryOp::leaky_relu, UnaryOp::softplus}) {
    cpu.unary(op, y, x, {0.5, 0.75});
    const Values got = y.to_vector<double>();
    EXPECT_TRUE(std::isfinite(got[0]) && std::isfinite(got[1])) << static_cast<int>(op);
    EXPECT_TRUE(std::isnan(got[2])) << static_cast<int>(op);
  }
  for (const BinaryOp op : {BinaryOp::maximum, BinaryOp::minimum, BinaryOp::add_relu}) {
    const Tensor nan = tensor(cpu, {1}, {std::nan("")}), one = tensor(cpu, {1}, {1});
    const Tensor z = Tensor::empty_like(one);
    cpu.binary(op, z, nan, one);
    EXPECT_TRUE(std::isnan(z.item()));
    cpu.binary(op, z, one, nan);
    EXPECT_TRUE(std::isnan(z.item()));
  }
}

struct BinaryCase {
  BinaryOp op;
  double (*function)(double, double);
};
const BinaryCase kBinaryCases[] = {
    {BinaryOp::add, [](double a, double b) { return a + b; }},
    {BinaryOp::subtract, [](double a, double b) { return a - b; }},
    {BinaryOp::multiply, [](double a, double b) { return a * b; }},
    {BinaryOp::divide, [](double a, double b) { return a / b; }},
    {BinaryOp::maximum, [](double a, double b) { return std::fmax(a, b); }},
    {BinaryOp::minimum, [](double a, double b) { return std::fmin(a, b); }},
    {BinaryOp::equal, [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {BinaryOp::greater, [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {BinaryOp::add_relu, [](double a, double b) { return std::fmax(a + b, 0.0); }},
};

TEST(CpuElementwise, FunctionsOfTwoTensorsWithBroadcasting) {
  CpuBackend cpu;
  for (const BinaryCase& c : kBinaryCases)
    for_each_real([&](DType dtype) {
      SCOPED_TRACE(static_cast<int>(c.op));
      const Tensor a = tensor(cpu, {2, 1, 3}, {1, 2, 3, -4, 0.5, 2}, dtype);
      const Tensor b = tensor(cpu, {4, 1}, {2, 1, -4, 0.25}, dtype);
      const Shape shape{2, 4, 3};
      const Tensor out = unwritten(cpu, shape, dtype);
      cpu.binary(c.op, out, a.broadcast_to(shape), b.broadcast_to(shape));
      Values expected;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          for (int k = 0; k < 3; ++k)
            expected.push_back(c.function(a.to_vector<double>()[static_cast<std::size_t>(i * 3 + k)],
                                          b.to_vector<double>()[static_cast<std::size_t>(j)]));
      expect_close(out, expected);
    });
}

TEST(CpuElementwise, WritesThroughStridedViewsOnly) {
  CpuBackend cpu;
  const Tensor storage = Tensor::full({4, 6}, -1, {.dtype = DType::f64, .backend = &cpu});
  const Tensor x = random_tensor(cpu, {3, 2}, DType::f64, 5);
  const Tensor window = storage.slice(0, 1, 3).slice(1, 2, 5);  // (2, 3)
  cpu.unary(UnaryOp::affine, window, x.permute({1, 0}), {2, 0});
  const Values got = storage.to_vector<double>(), in = x.to_vector<double>();
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      const bool inside = i >= 1 && i < 3 && j >= 2 && j < 5;
      EXPECT_EQ(got[i * 6 + j], inside ? 2 * in[(j - 2) * 2 + i - 1] : -1) << i << ", " << j;
    }
}

TEST(CpuElementwise, AccumulatesAndWorksInPlace) {
  CpuBackend cpu;
  for_each_real([&](DType dtype) {
    const Tensor x = tensor(cpu, {2, 2}, {1, 2, 3, 4}, dtype);
    cpu.accumulate(x, tensor(cpu, {2}, {10, 20}, dtype).broadcast_to({2, 2}), 0.5);
    expect_close(x, {6, 12, 8, 14});
    cpu.unary(UnaryOp::square, x, x, {});
    expect_close(x, {36, 144, 64, 196});
  });
}

TEST(CpuElementwise, EmptyAndScalarTensors) {
  CpuBackend cpu;
  const Tensor empty = Tensor::zeros({0, 3}, {.backend = &cpu});
  cpu.unary(UnaryOp::exp, empty, empty, {});
  cpu.binary(BinaryOp::add, empty, empty, Tensor::zeros({3}, {.backend = &cpu}).broadcast_to({0, 3}));
  const Tensor scalar = Tensor::full({}, 3, {.backend = &cpu});
  cpu.binary(BinaryOp::multiply, scalar, scalar, scalar);
  EXPECT_EQ(scalar.item(), 9);
  expect_error([&] { cpu.unary(UnaryOp::exp, empty, empty.to(DType::f64), {}); }, "f64");
}

}  // namespace
}  // namespace ronde::test
