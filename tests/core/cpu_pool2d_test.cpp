#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

struct PoolCase {
  Shape x;
  Pool2dParams params;
};

const PoolCase kPoolCases[] = {
    {{2, 4, 6, 3}, {}},
    {{2, 5, 7, 2}, {}},                              // a row and a column are left over
    {{1, 1, 1, 1}, {{1, 1}, {1, 1}, {}}},            // one pixel
    {{2, 6, 5, 2}, {{3, 2}, {1, 1}, {}}},            // windows overlap
    {{1, 7, 7, 1}, {{2, 2}, {3, 3}, {}}},            // windows leave gaps
    {{2, 5, 5, 2}, {{3, 3}, {2, 2}, {1, 1, 1, 1}}},  // padded
    {{1, 3, 4, 2}, {{2, 2}, {2, 2}, {0, 1, 0, 0}}},  // padded below only
    {{1, 20, 20, 1}, {{17, 17}, {1, 1}, {}}},        // more than 256 elements: i32 indices
    {{0, 4, 4, 2}, {}},                              // no image
};

Shape output_shape(const PoolCase& c) {
  const Pool2dParams& p = c.params;
  return {c.x[0], (c.x[1] + p.padding.top + p.padding.bottom - p.window.h) / p.stride.h + 1,
          (c.x[2] + p.padding.left + p.padding.right - p.window.w) / p.stride.w + 1, c.x[3]};
}

DType index_type(const Pool2dParams& p) {
  return p.window.h * p.window.w <= 256 ? DType::u8 : DType::i32;
}

// Calls `f(out index, x index, index in window)` for every pixel of every window.
template <class F>
void for_each_pixel(const PoolCase& c, F&& f) {
  const Shape out = output_shape(c);
  const Pool2dParams& p = c.params;
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::int64_t channel = i % out[3], ox = i / out[3] % out[2], oy = i / out[3] / out[2] % out[1];
    const std::int64_t n = i / out[3] / out[2] / out[1];
    for (std::int64_t k = 0; k < p.window.h * p.window.w; ++k) {
      const std::int64_t y = oy * p.stride.h - p.padding.top + k / p.window.w;
      const std::int64_t x = ox * p.stride.w - p.padding.left + k % p.window.w;
      if (y < 0 || y >= c.x[1] || x < 0 || x >= c.x[2]) continue;
      f(static_cast<std::size_t>(i),
        static_cast<std::size_t>(((n * c.x[1] + y) * c.x[2] + x) * c.x[3] + channel), k);
    }
  }
}

class CpuPool2d : public testing::TestWithParam<PoolCase> {};

TEST_P(CpuPool2d, MaximumForwardAndBackward) {
  CpuBackend cpu;
  const PoolCase& c = GetParam();
  const Shape shape = output_shape(c);
  for_each_real([&](DType dtype) {
    const Tensor x = random_tensor(cpu, c.x, dtype, 1), out = unwritten(cpu, shape, dtype);
    const Tensor argmax = unwritten(cpu, shape, index_type(c.params));
    cpu.max_pool2d(out, argmax, x, c.params);

    const Tensor grad_out = random_tensor(cpu, shape, dtype, 2), grad_x = unwritten(cpu, c.x, dtype);
    cpu.max_pool2d_backward(grad_x, grad_out, argmax, c.params);

    const Values xs = x.to_vector<double>(), gs = grad_out.to_vector<double>();
    const auto count = static_cast<std::size_t>(shape.count());
    Values best(count, -std::numeric_limits<double>::infinity()), index(count);
    std::vector<std::size_t> source(count);
    for_each_pixel(c, [&](std::size_t o, std::size_t i, std::int64_t k) {
      if (xs[i] <= best[o]) return;
      best[o] = xs[i];
      index[o] = static_cast<double>(k);
      source[o] = i;
    });
    Values expected_gradient(static_cast<std::size_t>(c.x.count()), 0.0);
    for (std::size_t o = 0; o < count; ++o) expected_gradient[source[o]] += gs[o];
    EXPECT_EQ(out.to_vector<double>(), best);
    EXPECT_EQ(argmax.to_vector<double>(), index);
    expect_close(grad_x, expected_gradient);
  });
}

TEST_P(CpuPool2d, AverageForwardAndBackward) {
  CpuBackend cpu;
  const PoolCase& c = GetParam();
  const Shape shape = output_shape(c);
  for_each_real([&](DType dtype) {
    const Tensor x = random_tensor(cpu, c.x, dtype, 1), out = unwritten(cpu, shape, dtype);
    cpu.average_pool2d(out, x, c.params);
    const Tensor grad_out = random_tensor(cpu, shape, dtype, 2), grad_x = unwritten(cpu, c.x, dtype);
    cpu.average_pool2d_backward(grad_x, grad_out, c.params);

    const Values xs = x.to_vector<double>(), gs = grad_out.to_vector<double>();
    Values sum(static_cast<std::size_t>(shape.count()), 0.0), pixels = sum;
    for_each_pixel(c, [&](std::size_t o, std::size_t i, std::int64_t) {
      sum[o] += xs[i];
      pixels[o] += 1;
    });
    Values expected_gradient(static_cast<std::size_t>(c.x.count()), 0.0);
    for_each_pixel(
        c, [&](std::size_t o, std::size_t i, std::int64_t) { expected_gradient[i] += gs[o] / pixels[o]; });
    for (std::size_t o = 0; o < sum.size(); ++o) sum[o] /= pixels[o];
    expect_close(out, sum);
    expect_close(grad_x, expected_gradient);
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, CpuPool2d, testing::ValuesIn(kPoolCases));

TEST(CpuMaxPool2d, TheFirstOfEqualsWinsAndPaddingNever) {
  CpuBackend cpu;
  const Tensor x = Tensor::full({1, 2, 2, 1}, -5, {.backend = &cpu}),
               out = unwritten(cpu, {1, 1, 1, 1}, DType::f32);
  const Tensor argmax = unwritten(cpu, {1, 1, 1, 1}, DType::u8);
  cpu.max_pool2d(out, argmax, x, {});
  EXPECT_EQ(argmax.item(), 0);
  // A window whose upper left part is padding: pixel (0, 0) is its element 4.
  cpu.max_pool2d(out, argmax, x, {{3, 3}, {3, 3}, {1, 0, 1, 0}});
  EXPECT_EQ(out.item(), -5);
  EXPECT_EQ(argmax.item(), 4);
}

TEST(CpuMaxPool2d, MinusInfinityAndNanAreValuesToo) {
  CpuBackend cpu;
  const double low = -std::numeric_limits<double>::infinity();
  const Tensor out = unwritten(cpu, {1, 1, 1, 1}, DType::f64),
               argmax = unwritten(cpu, {1, 1, 1, 1}, DType::u8);
  cpu.max_pool2d(out, argmax, tensor(cpu, {1, 2, 2, 1}, {low, low, low, low}), {});
  EXPECT_EQ(out.item(), low);
  EXPECT_EQ(argmax.item(), 0);
  cpu.max_pool2d(out, argmax, tensor(cpu, {1, 2, 2, 1}, {1, std::nan(""), 3, std::nan("")}), {});
  EXPECT_TRUE(std::isnan(out.item()));
  EXPECT_EQ(argmax.item(), 1);
  expect_error(
      [&] {
        cpu.max_pool2d(out, out, Tensor::zeros({1, 2, 2, 1}, {DType::f64, &cpu}), {});
      },
      "argmax is u8 or i32, got f64");
}

}  // namespace
}  // namespace ronde::test
