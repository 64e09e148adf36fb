#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

constexpr std::size_t kClasses = 5;

// Softmax by its definition, in long double.
Values softmax(const Values& x) {
  Values p(x.size());
  for (std::size_t row = 0; row < x.size(); row += kClasses) {
    long double total = 0;
    for (std::size_t i = 0; i < kClasses; ++i) total += std::exp(static_cast<long double>(x[row + i]));
    for (std::size_t i = 0; i < kClasses; ++i)
      p[row + i] = static_cast<double>(std::exp(static_cast<long double>(x[row + i])) / total);
  }
  return p;
}

// Sum of g * f at x, differentiated by central differences.
template <class F>
Values numeric_gradient(Values x, const Values& g, F&& f) {
  constexpr double kStep = 1e-5;
  const auto dot = [&] {
    const Values y = f(x);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * g[i];
    return sum;
  };
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = dot();
    x[i] = at - kStep;
    gradient[i] = (above - dot()) / (2 * kStep);
    x[i] = at;
  }
  return gradient;
}

void expect_near(const Tensor& actual, const Values& expected, double tolerance) {
  const Values got = actual.to_vector<double>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

TEST(CpuSoftmax, ForwardAndLogarithm) {
  CpuBackend cpu;
  for_each_real([&](DType dtype) {
    const Tensor x = random_tensor(cpu, {2, 3, 5}, dtype, 1), y = unwritten(cpu, {2, 3, 5}, dtype);
    Values expected = softmax(x.to_vector<double>());
    cpu.softmax(y, x);
    expect_close(y, expected);
    for (double& p : expected) p = std::log(p);
    cpu.log_softmax(y, x);
    expect_close(y, expected);
  });
}

TEST(CpuSoftmax, LargeLogitsDoNotOverflow) {
  CpuBackend cpu;
  for_each_real([&](DType dtype) {
    const Tensor x = tensor(cpu, {1, 3}, {1e4, 1e4, -1e4}, dtype), y = Tensor::empty_like(x);
    cpu.softmax(y, x);
    expect_close(y, {0.5, 0.5, 0});
    cpu.log_softmax(y, x);
    expect_close(y, {-std::log(2), -std::log(2), -2e4 - std::log(2)});
  });
}

TEST(CpuSoftmax, GradientsMatchFiniteDifferences) {
  CpuBackend cpu;
  const Values at = random_values(10, 1), g = random_values(10, 2);
  const Tensor x = tensor(cpu, {2, 5}, at), grad_y = tensor(cpu, {2, 5}, g);
  const Tensor y = Tensor::empty_like(x), grad_x = unwritten(cpu, {2, 5}, DType::f64);
  cpu.softmax(y, x);
  cpu.softmax_backward(grad_x, grad_y, y);
  expect_near(grad_x, numeric_gradient(at, g, softmax), 1e-9);
  cpu.log_softmax(y, x);
  cpu.log_softmax_backward(grad_x, grad_y, y);
  expect_near(grad_x,
              numeric_gradient(at, g,
                               [](const Values& values) {
                                 Values p = softmax(values);
                                 for (double& v : p) v = std::log(v);
                                 return p;
                               }),
              1e-8);
}

constexpr std::int32_t kLabels[] = {3, 0, 4};

// Row losses by the definition: minus the sum of target * log p.
Values cross_entropy(const Values& logits, double smoothing) {
  const Values p = softmax(logits);
  Values losses(p.size() / kClasses, 0.0);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const bool hit = kLabels[i / kClasses] == static_cast<std::int32_t>(i % kClasses);
    losses[i / kClasses] -= ((hit ? 1 - smoothing : 0) + smoothing / kClasses) * std::log(p[i]);
  }
  return losses;
}

TEST(CpuSoftmax, CrossEntropyAndItsGradient) {
  CpuBackend cpu;
  const Tensor labels = Tensor::from<std::int32_t>({3}, std::span(kLabels), &cpu);
  for (const double smoothing : {0.0, 0.1})
    for_each_real([&](DType dtype) {
      const Tensor logits = random_tensor(cpu, {3, 5}, dtype, 3);
      const Tensor losses = unwritten(cpu, {3}, dtype), p = unwritten(cpu, {3, 5}, dtype);
      const Tensor grad_losses = random_tensor(cpu, {3}, dtype, 4), grad = unwritten(cpu, {3, 5}, dtype);
      cpu.softmax_cross_entropy(losses, p, logits, labels, smoothing);
      cpu.softmax_cross_entropy_backward(grad, grad_losses, p, labels, smoothing);
      const Values z = logits.to_vector<double>();
      expect_close(losses, cross_entropy(z, smoothing));
      expect_close(p, softmax(z));
      const auto f = [&](const Values& values) { return cross_entropy(values, smoothing); };
      expect_near(grad, numeric_gradient(z, grad_losses.to_vector<double>(), f),
                  dtype == DType::f64 ? 1e-9 : 1e-6);
    });
}

TEST(CpuSoftmax, AConfidentMistakeCostsItsMargin) {
  CpuBackend cpu;
  const Tensor logits = tensor(cpu, {1, 2}, {0, 500}, DType::f32),
               losses = Tensor::zeros({1}, {.backend = &cpu});
  cpu.softmax_cross_entropy(losses, Tensor::empty_like(logits), logits,
                            Tensor::from<std::int32_t>({1}, {0}, &cpu), 0);
  EXPECT_EQ(losses.item(), 500);  // log(p) itself would be -inf
}

TEST(CpuSoftmax, ABadLabelIsNamed) {
  CpuBackend cpu;
  const Tensor logits = Tensor::zeros({2, 3}, {.backend = &cpu}),
               losses = Tensor::zeros({2}, {.backend = &cpu});
  for (const std::int32_t bad : {3, -1})
    expect_error(
        [&] {
          cpu.softmax_cross_entropy(losses, Tensor::empty_like(logits), logits,
                                    Tensor::from<std::int32_t>({2}, {0, bad}, &cpu), 0);
        },
        cat("label ", bad, " of row 1 is none of the 3 classes"));
}

TEST(CpuSoftmax, AnEmptyBatch) {
  CpuBackend cpu;
  const Tensor x = Tensor::zeros({0, 5}, {.backend = &cpu}), rows = Tensor::zeros({0}, {.backend = &cpu});
  const Tensor labels = Tensor::zeros({0}, {.dtype = DType::i32, .backend = &cpu});
  cpu.softmax(x, x);
  cpu.softmax_backward(x, x, x);
  cpu.log_softmax(x, x);
  cpu.log_softmax_backward(x, x, x);
  cpu.softmax_cross_entropy(rows, x, x, labels, 0);
  cpu.softmax_cross_entropy_backward(x, rows, x, labels, 0);
}

}  // namespace
}  // namespace ronde::test
