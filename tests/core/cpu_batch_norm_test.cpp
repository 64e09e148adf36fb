#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

struct Statistics {
  Values mean, variance;
};

// E[x] and E[x^2] - E[x]^2, in long double.
Statistics statistics(const Values& x, std::size_t channels) {
  Statistics s{Values(channels), Values(channels)};
  const auto rows = static_cast<long double>(x.size() / channels);
  for (std::size_t c = 0; c < channels; ++c) {
    long double sum = 0, squares = 0;
    for (std::size_t i = c; i < x.size(); i += channels) {
      sum += x[i];
      squares += static_cast<long double>(x[i]) * x[i];
    }
    s.mean[c] = static_cast<double>(sum / rows);
    s.variance[c] = static_cast<double>(squares / rows - sum / rows * (sum / rows));
  }
  return s;
}

Values normalise(const Values& x, const Statistics& s, const Values& gamma, const Values& beta,
                 double epsilon) {
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % s.mean.size();
    y[i] = (x[i] - s.mean[c]) / std::sqrt(s.variance[c] + epsilon) * gamma[c] + beta[c];
  }
  return y;
}

TEST(CpuBatchNorm, StatisticsOverAllAxesButTheLast) {
  CpuBackend cpu;
  for (const Shape& shape : {Shape{3, 4, 5, 2}, Shape{7, 33}, Shape{1, 1}})
    for_each_real([&](DType dtype) {
      const Tensor x = random_tensor(cpu, shape, dtype, 1);
      const Tensor mean = unwritten(cpu, {shape.back()}, dtype);
      const Tensor variance = unwritten(cpu, {shape.back()}, dtype);
      cpu.batch_statistics(mean, variance, x);
      const Statistics expected = statistics(x.to_vector<double>(), static_cast<std::size_t>(shape.back()));
      expect_close(mean, expected.mean);
      expect_close(variance, expected.variance);
    });
}

TEST(CpuBatchNorm, VarianceSurvivesALargeMean) {
  CpuBackend cpu;
  const Tensor x = tensor(cpu, {4, 1}, {1e8 - 1, 1e8 + 1, 1e8 - 1, 1e8 + 1});
  const Tensor mean = unwritten(cpu, {1}, DType::f64), variance = unwritten(cpu, {1}, DType::f64);
  cpu.batch_statistics(mean, variance, x);
  EXPECT_EQ(mean.item(), 1e8);
  EXPECT_EQ(variance.item(), 1);
}

TEST(CpuBatchNorm, NormalisesWithAndWithoutScaleAndShift) {
  CpuBackend cpu;
  for (const bool affine : {false, true})
    for_each_real([&](DType dtype) {
      const Tensor x = random_tensor(cpu, {2, 3, 4}, dtype, 1), out = unwritten(cpu, {2, 3, 4}, dtype);
      const Statistics s{{0.1, -0.2, 0.3, 0}, {1, 0.5, 2, 0}};
      const Values gamma = affine ? Values{1.5, -1, 0.5, 2} : Values(4, 1.0);
      const Values beta = affine ? Values{0.5, 1, -1, 0} : Values(4, 0.0);
      const auto optional = [&](const Values& v) { return affine ? tensor(cpu, {4}, v, dtype) : Tensor(); };
      cpu.batch_norm(out, x, tensor(cpu, {4}, s.mean, dtype), tensor(cpu, {4}, s.variance, dtype),
                     optional(gamma), optional(beta), {.epsilon = 0.01});
      expect_close(out, normalise(x.to_vector<double>(), s, gamma, beta, 0.01));
    });
}

TEST(CpuBatchNorm, GradientsMatchFiniteDifferences) {
  CpuBackend cpu;
  constexpr double kEpsilon = 1e-3, kStep = 1e-5;
  Values at = random_values(18, 1);
  const Values g = random_values(18, 2);
  Values gamma{1.5, -0.5, 2}, beta{0.1, 0.2, 0.3};
  const auto loss = [&] {
    const Values y = normalise(at, statistics(at, 3), gamma, beta, kEpsilon);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * g[i];
    return sum;
  };
  const auto gradient = [&](Values& of) {
    Values result;
    for (double& v : of) {
      const double start = v;
      v = start + kStep;
      const double above = loss();
      v = start - kStep;
      result.push_back((above - loss()) / (2 * kStep));
      v = start;
    }
    return result;
  };
  const Tensor x = tensor(cpu, {2, 3, 3}, at), grad_out = tensor(cpu, {2, 3, 3}, g);
  const Tensor mean = Tensor::zeros({3}, x.options()), variance = Tensor::zeros({3}, x.options());
  cpu.batch_statistics(mean, variance, x);
  const auto run = [&](const Tensor& scale, const Tensor& grad_gamma, const Tensor& grad_beta) {
    const Tensor grad_x = unwritten(cpu, x.shape(), DType::f64);
    cpu.batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, scale, {kEpsilon});
    return grad_x.to_vector<double>();
  };
  const auto expect_near = [](const Values& got, const Values& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-8) << i;
  };
  const Tensor grad_gamma = unwritten(cpu, {3}, DType::f64), grad_beta = unwritten(cpu, {3}, DType::f64);
  expect_near(run(tensor(cpu, {3}, gamma), grad_gamma, grad_beta), gradient(at));
  expect_near(grad_gamma.to_vector<double>(), gradient(gamma));
  expect_near(grad_beta.to_vector<double>(), gradient(beta));
  gamma = {1, 1, 1};
  expect_near(run({}, {}, {}), gradient(at));
}

TEST(CpuBatchNorm, AnEmptyBatchHasNoNan) {
  CpuBackend cpu;
  const Tensor x = Tensor::zeros({0, 2, 3}, {.backend = &cpu});
  const Tensor mean = unwritten(cpu, {3}, DType::f32), variance = unwritten(cpu, {3}, DType::f32);
  cpu.batch_statistics(mean, variance, x);
  EXPECT_EQ(mean.to_vector<double>(), (Values{0, 0, 0}));
  EXPECT_EQ(variance.to_vector<double>(), (Values{0, 0, 0}));
  cpu.batch_norm(x, x, mean, variance, {}, {}, {});
  const Tensor grad_gamma = unwritten(cpu, {3}, DType::f32), grad_beta = unwritten(cpu, {3}, DType::f32);
  cpu.batch_norm_backward(x, grad_gamma, grad_beta, x, x, mean, variance, {}, {});
  EXPECT_EQ(grad_gamma.to_vector<double>(), (Values{0, 0, 0}));
  EXPECT_EQ(grad_beta.to_vector<double>(), (Values{0, 0, 0}));
}

}  // namespace
}  // namespace ronde::test
