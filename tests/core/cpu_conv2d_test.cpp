// Convolution against its definition: nested loops over outputs and filter elements.
#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

struct ConvCase {
  const char* name;
  Shape x, weight;  // NHWC, OHWI
  Conv2dParams params;
};

const ConvCase kConvCases[] = {
    {"plain", {2, 5, 6, 3}, {4, 3, 3, 3}, {}},
    {"one pixel", {3, 1, 1, 2}, {3, 1, 1, 2}, {}},
    {"one pixel, padded", {1, 1, 1, 1}, {2, 3, 3, 1}, {.padding = {1, 1, 1, 1}}},
    {"stride above the kernel", {2, 7, 8, 2}, {3, 2, 1, 2}, {.stride = {3, 2}}},
    {"kernel above the stride", {1, 9, 7, 1}, {2, 5, 3, 1}, {.stride = {2, 2}}},
    {"uneven padding", {2, 4, 5, 2}, {2, 2, 3, 2}, {.padding = {0, 1, 1, 2}}},
    {"dilation", {1, 8, 9, 2}, {3, 3, 2, 2}, {.padding = {1, 1, 0, 0}, .dilation = {2, 3}}},
    {"groups", {2, 5, 5, 6}, {4, 3, 3, 3}, {.groups = 2}},
    {"depthwise", {2, 6, 4, 3}, {6, 3, 3, 1}, {.stride = {2, 1}, .padding = {1, 1, 1, 1}, .groups = 3}},
    {"everything", {18, 7, 9, 4}, {6, 3, 2, 2}, {{2, 3}, {2, 1, 1, 0}, {2, 1}, 2}},
    {"kernel as large as the image", {2, 3, 4, 2}, {2, 3, 4, 2}, {}},
    {"no image", {0, 5, 6, 3}, {4, 3, 3, 3}, {}},
};

Shape output_shape(const ConvCase& c) {
  const auto extent = [](std::int64_t in, std::int64_t padding, std::int64_t k, std::int64_t dilation,
                         std::int64_t stride) {
    return (in + padding - dilation * (k - 1) - 1) / stride + 1;
  };
  const Conv2dParams& p = c.params;
  return {c.x[0], extent(c.x[1], p.padding.top + p.padding.bottom, c.weight[1], p.dilation.h, p.stride.h),
          extent(c.x[2], p.padding.left + p.padding.right, c.weight[2], p.dilation.w, p.stride.w),
          c.weight[0]};
}

std::size_t at(const Shape& s, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return static_cast<std::size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d);
}

// Calls `f(out index, x index, weight index)` for every product in the definition of a convolution.
template <class F>
void for_each_product(const ConvCase& c, F&& f) {
  const Shape out = output_shape(c);
  const std::int64_t per_group = c.weight[0] / c.params.groups;
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t y = 0; y < out[1]; ++y)
      for (std::int64_t x = 0; x < out[2]; ++x)
        for (std::int64_t o = 0; o < out[3]; ++o)
          for (std::int64_t ky = 0; ky < c.weight[1]; ++ky)
            for (std::int64_t kx = 0; kx < c.weight[2]; ++kx)
              for (std::int64_t i = 0; i < c.weight[3]; ++i) {
                const std::int64_t iy =
                    y * c.params.stride.h - c.params.padding.top + ky * c.params.dilation.h;
                const std::int64_t ix =
                    x * c.params.stride.w - c.params.padding.left + kx * c.params.dilation.w;
                if (iy < 0 || iy >= c.x[1] || ix < 0 || ix >= c.x[2]) continue;
                f(at(out, n, y, x, o), at(c.x, n, iy, ix, o / per_group * c.weight[3] + i),
                  at(c.weight, o, ky, kx, i));
              }
}

class CpuConv2d : public testing::TestWithParam<ConvCase> {};

TEST_P(CpuConv2d, Forward) {
  CpuBackend cpu;
  const ConvCase& c = GetParam();
  for (const bool with_bias : {false, true})
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu})
      for_each_real([&](DType dtype) {
        const Tensor x = random_tensor(cpu, c.x, dtype, 1), weight = random_tensor(cpu, c.weight, dtype, 2);
        const Tensor bias = with_bias ? random_tensor(cpu, {c.weight[0]}, dtype, 3) : Tensor();
        const Tensor out = unwritten(cpu, output_shape(c), dtype);
        cpu.conv2d(out, x, weight, bias, c.params, epilogue);
        const Values xs = x.to_vector<double>(), ws = weight.to_vector<double>();
        Values expected(static_cast<std::size_t>(out.count()), 0.0);
        for_each_product(c,
                         [&](std::size_t o, std::size_t i, std::size_t w) { expected[o] += xs[i] * ws[w]; });
        const Values bs =
            with_bias ? bias.to_vector<double>() : Values(static_cast<std::size_t>(c.weight[0]), 0.0);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expected[i] += bs[i % bs.size()];
          if (epilogue == Epilogue::relu) expected[i] = std::max(expected[i], 0.0);
        }
        expect_close(out, expected);
      });
}

TEST_P(CpuConv2d, BackwardInput) {
  CpuBackend cpu;
  const ConvCase& c = GetParam();
  for_each_real([&](DType dtype) {
    const Tensor weight = random_tensor(cpu, c.weight, dtype, 2);
    const Tensor grad_out = random_tensor(cpu, output_shape(c), dtype, 4);
    const Tensor grad_x = unwritten(cpu, c.x, dtype);
    cpu.conv2d_backward_input(grad_x, grad_out, weight, c.params);
    const Values gs = grad_out.to_vector<double>(), ws = weight.to_vector<double>();
    Values expected(static_cast<std::size_t>(c.x.count()), 0.0);
    for_each_product(c, [&](std::size_t o, std::size_t i, std::size_t w) { expected[i] += gs[o] * ws[w]; });
    expect_close(grad_x, expected);
  });
}

TEST_P(CpuConv2d, BackwardWeight) {
  CpuBackend cpu;
  const ConvCase& c = GetParam();
  for_each_real([&](DType dtype) {
    const Tensor x = random_tensor(cpu, c.x, dtype, 1);
    const Tensor grad_out = random_tensor(cpu, output_shape(c), dtype, 4);
    const Tensor grad_weight = unwritten(cpu, c.weight, dtype);
    const Tensor grad_bias = unwritten(cpu, {c.weight[0]}, dtype);
    cpu.conv2d_backward_weight(grad_weight, grad_bias, grad_out, x, c.params);
    const Values gs = grad_out.to_vector<double>(), xs = x.to_vector<double>();
    Values expected(static_cast<std::size_t>(c.weight.count()), 0.0);
    for_each_product(c, [&](std::size_t o, std::size_t i, std::size_t w) { expected[w] += gs[o] * xs[i]; });
    expect_close(grad_weight, expected);
    Values bias(static_cast<std::size_t>(c.weight[0]), 0.0);
    for (std::size_t i = 0; i < gs.size(); ++i) bias[i % bias.size()] += gs[i];
    expect_close(grad_bias, bias);

    const Tensor alone = unwritten(cpu, c.weight, dtype);
    cpu.conv2d_backward_weight(alone, {}, grad_out, x, c.params);
    EXPECT_EQ(alone.to_vector<double>(), grad_weight.to_vector<double>());
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, CpuConv2d, testing::ValuesIn(kConvCases), [](const auto& each) {
  std::string name = each.param.name;
  std::erase_if(name, [](char c) { return c == ','; });
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace ronde::test
