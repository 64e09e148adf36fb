#include <gtest/gtest.h>

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

struct TransposeCase {
  Shape x, weight;
  Conv2dTransposeOptions options;
  Size2d out;
};

// Sizes as Keras 3.15.1 has them.
const TransposeCase kCases[] = {
    {{2, 3, 4, 3}, {3, 3, 3, 2}, {}, {5, 6}},
    {{1, 3, 4, 2}, {2, 3, 2, 3}, {.padding = Padding::same}, {3, 4}},
    {{2, 3, 4, 2}, {2, 3, 2, 3}, {.stride = {2, 2}, .padding = Padding::same}, {6, 8}},
    {{2, 3, 4, 2}, {2, 3, 2, 3}, {.stride = {2, 2}}, {7, 8}},
    {{1, 3, 2, 2}, {2, 2, 3, 1}, {.stride = {3, 1}, .padding = Padding::same}, {9, 2}},
    {{1, 3, 2, 2}, {2, 2, 3, 1}, {.stride = {3, 1}}, {9, 4}},
    {{1, 2, 3, 1}, {1, 5, 4, 2}, {.stride = {2, 3}, .padding = Padding::same}, {4, 9}},
    {{1, 1, 1, 5}, {5, 4, 4, 2}, {.stride = {2, 2}}, {4, 4}},
    {{0, 3, 4, 2}, {2, 3, 3, 3}, {.stride = {2, 2}, .padding = Padding::same}, {6, 8}},
    {{2, 3, 4, 2}, {2, 3, 2, 3}, {.dilation = {2, 3}}, {7, 7}},
    {{2, 3, 4, 2}, {2, 3, 2, 3}, {.padding = Padding::same, .dilation = {2, 3}}, {3, 4}},
    {{1, 3, 4, 2}, {2, 2, 3, 3}, {.dilation = {2, 2}, .output_padding = Size2d{0, 0}}, {5, 8}},
    {{1, 3, 4, 2}, {2, 2, 2, 3}, {.padding = Padding::same, .output_padding = Size2d{0, 0}}, {2, 3}},
    {{2, 3, 4, 2}, {2, 3, 2, 3}, {.stride = {2, 3}, .output_padding = Size2d{1, 2}}, {8, 13}},
    {{2, 3, 4, 2}, {2, 3, 2, 3}, {.stride = {2, 3}, .output_padding = Size2d{0, 0}}, {7, 11}},
    {{2, 3, 4, 2},
     {2, 3, 2, 3},
     {.stride = {2, 3}, .padding = Padding::same, .output_padding = Size2d{1, 2}},
     {6, 11}},
    {{1, 2, 3, 1},
     {1, 5, 4, 2},
     {.stride = {2, 3}, .padding = Padding::same, .output_padding = Size2d{0, 1}},
     {3, 7}},
    {{1, 2, 3, 1},
     {1, 1, 1, 2},
     {.stride = {3, 3}, .padding = Padding::same, .output_padding = Size2d{2, 0}},
     {6, 7}},
};

/// What a kernel covers.
std::int64_t covered(std::int64_t taps, std::int64_t dilation) {
  return (taps - 1) * dilation + 1;
}

/// The definition: each element of x puts a multiple of the kernel into the image, whose edges are cut.
std::vector<double> naive(const Tensor& x, const Tensor& w, const Tensor& bias, const TransposeCase& c) {
  const std::vector<double> xs = x.to_vector<double>(), ws = w.to_vector<double>();
  const std::int64_t channels = w.size(0), kh = w.size(1), kw = w.size(2), filters = w.size(3);
  const auto cut = [&](std::int64_t in, std::int64_t k, std::int64_t stride, std::int64_t out) {
    return std::max<std::int64_t>((in - 1) * stride + k - out, 0) / 2;
  };
  const Size2d stride = c.options.stride, dilation = c.options.dilation;
  const std::int64_t top = cut(x.size(1), covered(kh, dilation.h), stride.h, c.out.h),
                     left = cut(x.size(2), covered(kw, dilation.w), stride.w, c.out.w);
  std::vector<double> y;
  for (std::int64_t i = 0; i < x.size(0) * c.out.h * c.out.w; ++i)
    for (const double b : bias.to_vector<double>()) y.push_back(b);
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t d = i % channels, column = i / channels % x.size(2);
    const std::int64_t row = i / channels / x.size(2) % x.size(1), n = i / channels / x.size(2) / x.size(1);
    for (std::int64_t k = 0; k < kh * kw * filters; ++k) {
      const std::int64_t f = k % filters, s = column * stride.w + k / filters % kw * dilation.w - left;
      const std::int64_t r = row * stride.h + k / filters / kw * dilation.h - top;
      if (r < 0 || r >= c.out.h || s < 0 || s >= c.out.w) continue;
      y[static_cast<std::size_t>(((n * c.out.h + r) * c.out.w + s) * filters + f)] +=
          xs[static_cast<std::size_t>(i)] * ws[static_cast<std::size_t>(d * kh * kw * filters + k)];
    }
  }
  if (c.options.epilogue == Epilogue::relu)
    for (double& v : y) v = std::max(v, 0.0);
  return y;
}

class Conv2dTranspose : public ::testing::TestWithParam<TransposeCase> {};

TEST_P(Conv2dTranspose, Value) {
  TransposeCase c = GetParam();
  const Tensor x = random_tensor(c.x, 1), w = random_tensor(c.weight, 2), b = random_tensor({c.weight[3]}, 3);
  const Tensor zeros = Tensor::zeros(b.shape(), b.options());
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
    c.options.epilogue = epilogue;
    const Variable y = conv2d_transpose(x, w, b, c.options), unbiased = conv2d_transpose(x, w, {}, c.options);
    EXPECT_EQ(y.shape(), (Shape{c.x[0], c.out.h, c.out.w, c.weight[3]}));
    expect_close(y.value(), naive(x, w, b, c), 1e-13, "with a bias");
    expect_close(unbiased.value(), naive(x, w, zeros, c), 1e-13, "without");
  }
}

TEST_P(Conv2dTranspose, Gradient) {
  const TransposeCase& c = GetParam();
  const Tensor x = random_tensor(c.x, 1), w = random_tensor(c.weight, 2), b = random_tensor({c.weight[3]}, 3);
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
    Conv2dTransposeOptions options = c.options;
    options.epilogue = epilogue;
    expect_gradients([&](const Variables& v) { return conv2d_transpose(v[0], v[1], v[2], options); },
                     {x, w, b});
    expect_gradients([&](const Variables& v) { return conv2d_transpose(v[0], v[1], {}, options); }, {x, w});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv2dTranspose, ::testing::ValuesIn(kCases));

// On the fast backend, too: the oracle alone computes f64.
TEST_P(Conv2dTranspose, OfFloatsIsNearTheOracles) {
  const TransposeCase& c = GetParam();
  const Tensor x = random_tensor(c.x, 1), w = random_tensor(c.weight, 2), b = random_tensor({c.weight[3]}, 3);
  const auto run = [&](DType dtype, Backend& on) {
    const auto input = [&](const Tensor& t) { return Variable::parameter(t.to(dtype).to(on)); };
    const Variables v{input(x), input(w), input(b)};
    const Variable y = conv2d_transpose(v[0], v[1], v[2], c.options);
    y.backward(random_tensor(y.shape(), 4).to(dtype).to(on));
    return std::vector<Tensor>{y.value(), v[0].grad(), v[1].grad(), v[2].grad()};
  };
  const std::vector<Tensor> expected = run(DType::f64, backend("cpu"));
  for (Backend* on : backends()) {
    const std::vector<Tensor> actual = run(DType::f32, *on);
    for (std::size_t i = 0; i < actual.size(); ++i)
      expect_close(actual[i], expected[i].to_vector<double>(), 2e-5, cat(on->name(), " ", i));
  }
}

TEST(Conv2dTransposeErrors, CarryBothValues) {
  const Tensor x = random_tensor({1, 3, 3, 2});
  EXPECT_EQ(message_of([&] {
              conv2d_transpose(x, random_tensor({3, 2, 2, 4}));
            }),
            "[conv2d_transpose] weight expects 3 input channels, got 2");
  EXPECT_EQ(message_of([&] {
              conv2d_transpose(x, random_tensor({2, 2, 2, 4}), random_tensor({2}));
            }),
            "[conv2d_transpose] bias must be (4,), got shape (2,)");
  EXPECT_THROW(conv2d_transpose(x, random_tensor({2, 2, 2, 4}), {}, {.stride = {0, 1}}), UsageError);
  EXPECT_EQ(
      message_of([&] {
        conv2d_transpose(x, random_tensor({2, 2, 2, 4}), {},
                         {.stride = {2, 3}, .output_padding = Size2d{1, 3}});
      }),
      "[conv2d_transpose] output_padding must not be negative and must be below the stride, 2x3, got 1x3");
  EXPECT_EQ(message_of([&] {
              conv2d_transpose(x, random_tensor({2, 2, 2, 4}), {}, {.dilation = {1, 0}});
            }),
            "[conv2d_transpose] stride and dilation must be positive, got 1x1 and 1x0");
  EXPECT_EQ(message_of([&] {
              conv2d_transpose(x.slice(1, 0, 1), random_tensor({2, 2, 2, 4}), {},
                               {.padding = Padding::same, .output_padding = Size2d{0, 0}});
            }),
            "[conv2d_transpose] nothing is left of 1 pixel by a window of 2 with output_padding 0");
  constexpr std::int64_t kHuge = (std::int64_t{1} << 62) + 1;  // four of which would be 4
  EXPECT_THROW(conv2d_transpose(random_tensor({1, 4, 4, 2}), random_tensor({2, 2, 2, 4}), {},
                                {.stride = {kHuge, 1}, .padding = Padding::same}),
               Error);
  EXPECT_THROW(conv2d_transpose(x, random_tensor({2, 5, 2, 4}), {}, {.dilation = {kHuge, 1}}), Error);
  EXPECT_THROW(conv2d_transpose(random_tensor({3, 3}), random_tensor({2, 2, 2, 4})), Error);
}

}  // namespace
}  // namespace ronde::test
