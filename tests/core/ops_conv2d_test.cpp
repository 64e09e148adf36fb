#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "ops/window.h"
#include "support/gradient_check.h"

namespace ronde::test {
namespace {

struct ConvCase {
  Shape x, weight;
  Conv2dOptions options;
};

const ConvCase kConvCases[] = {
    {{2, 5, 4, 3}, {2, 3, 3, 3}, {}},
    {{1, 5, 6, 2}, {3, 3, 2, 2}, {.padding = Padding::same}},
    {{1, 6, 5, 2}, {2, 3, 3, 2}, {.stride = {2, 2}, .padding = Padding::same}},
    {{1, 7, 8, 1}, {2, 2, 3, 1}, {.stride = {2, 3}}},
    {{1, 6, 7, 2}, {2, 3, 2, 2}, {.padding = Padding::same, .dilation = {2, 3}}},
    {{1, 7, 7, 1}, {1, 3, 3, 1}, {.stride = {2, 1}, .dilation = {2, 2}}},
    {{2, 4, 4, 4}, {6, 3, 3, 2}, {.padding = Padding::same, .groups = 2}},
    {{1, 4, 5, 3}, {3, 2, 2, 1}, {.groups = 3}},
    {{2, 3, 3, 5}, {4, 1, 1, 5}, {}},
    {{1, 4, 4, 2}, {2, 1, 1, 2}, {.stride = {3, 3}, .padding = Padding::same}},
    {{0, 4, 4, 2}, {3, 3, 3, 2}, {.padding = Padding::same}},
};

// Where the window of output `o` begins, by the rule of TensorFlow's documentation.
std::int64_t window_begin(std::int64_t o, std::int64_t in, std::int64_t k, std::int64_t stride,
                          Padding padding) {
  if (padding == Padding::valid) return o * stride;
  const std::int64_t needed =
      in % stride == 0 ? std::max<std::int64_t>(k - stride, 0) : std::max<std::int64_t>(k - in % stride, 0);
  return o * stride - needed / 2;
}

// The definition, element by element.
std::vector<double> naive_conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dOptions& o,
                                 Size2d out) {
  const std::vector<double> xs = x.to_vector<double>(), ws = w.to_vector<double>(),
                            bs = bias.to_vector<double>();
  const std::int64_t h = x.size(1), wd = x.size(2), c = x.size(3);
  const std::int64_t filters = w.size(0), kh = w.size(1), kw = w.size(2), depth = w.size(3);
  std::vector<double> y;
  for (std::int64_t n = 0; n < x.size(0); ++n)
    for (std::int64_t i = 0; i < out.h; ++i)
      for (std::int64_t j = 0; j < out.w; ++j)
        for (std::int64_t f = 0; f < filters; ++f) {
          double total = bs[static_cast<std::size_t>(f)];
          for (std::int64_t p = 0; p < kh; ++p)
            for (std::int64_t q = 0; q < kw; ++q)
              for (std::int64_t d = 0; d < depth; ++d) {
                const std::int64_t r =
                    window_begin(i, h, (kh - 1) * o.dilation.h + 1, o.stride.h, o.padding) + p * o.dilation.h;
                const std::int64_t s =
                    window_begin(j, wd, (kw - 1) * o.dilation.w + 1, o.stride.w, o.padding) +
                    q * o.dilation.w;
                if (r < 0 || r >= h || s < 0 || s >= wd) continue;
                const std::int64_t channel = f / (filters / o.groups) * depth + d;
                total += xs[static_cast<std::size_t>(((n * h + r) * wd + s) * c + channel)] *
                         ws[static_cast<std::size_t>(((f * kh + p) * kw + q) * depth + d)];
              }
          y.push_back(o.epilogue == Epilogue::relu ? std::max(total, 0.0) : total);
        }
  return y;
}

class Conv2d : public ::testing::TestWithParam<ConvCase> {};

TEST_P(Conv2d, Value) {
  const ConvCase& c = GetParam();
  const Tensor x = random_tensor(c.x, 1), w = random_tensor(c.weight, 2), b = random_tensor({c.weight[0]}, 3);
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
    Conv2dOptions options = c.options;
    options.epilogue = epilogue;
    const Variable y = conv2d(x, w, b, options);
    expect_close(y.value(), naive_conv2d(x, w, b, options, {y.size(1), y.size(2)}), 1e-13, "conv2d");
  }
}

TEST_P(Conv2d, Gradient) {
  const ConvCase& c = GetParam();
  const Tensor x = random_tensor(c.x, 1), w = random_tensor(c.weight, 2), b = random_tensor({c.weight[0]}, 3);
  Conv2dOptions options = c.options;
  expect_gradients([&](const Variables& v) { return conv2d(v[0], v[1], v[2], options); }, {x, w, b});
  expect_gradients([&](const Variables& v) { return conv2d(v[0], v[1], {}, options); }, {x, w});
  options.epilogue = Epilogue::relu;
  expect_gradients([&](const Variables& v) { return conv2d(v[0], v[1], v[2], options); }, {x, w, b});
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv2d, ::testing::ValuesIn(kConvCases));

TEST(Conv2dMargins, AreZerosAroundTheImage) {
  const Tensor x = random_tensor({2, 3, 4, 2}, 1), w = random_tensor({3, 3, 2, 2}, 2),
               b = random_tensor({3}, 3);
  const Margins2d margins{.top = 1, .bottom = 4, .left = 0, .right = 2};
  const Tensor padded = zero_pad2d(x, margins).value();
  for (const Padding padding : {Padding::valid, Padding::same}) {
    Conv2dOptions options{.stride = {1, 2}, .padding = padding};
    const Variable expected = conv2d(padded, w, b, options);
    const std::vector<double> values =
        naive_conv2d(padded, w, b, options, {expected.size(1), expected.size(2)});
    options.margins = margins;
    const Variable y = conv2d(x, w, b, options);
    EXPECT_EQ(y.shape(), expected.shape());
    expect_close(y.value(), values, 1e-13, "conv2d");
    expect_gradients([&](const Variables& v) { return conv2d(v[0], v[1], v[2], options); }, {x, w, b});
  }
  EXPECT_THROW(conv2d(x, w, b, {.margins = {.left = -1}}), UsageError);
}

// Of which a sum or a product is no 64-bit number: a kernel of 5 would cover 4 * 2^62 + 1 = 1 row.
TEST(Conv2dExtents, ThatOverflowAreRefused) {
  const Tensor x = random_tensor({1, 5, 5, 2}, 1), w = random_tensor({2, 5, 1, 2}, 2);
  const std::int64_t wide = std::int64_t{1} << 62;
  for (const Size2d dilation : {Size2d{wide, 1}, Size2d{1, wide}, Size2d{0, 1}, Size2d{1, -1}})
    EXPECT_THROW(conv2d(x, w, {}, {.dilation = dilation}), UsageError) << dilation.h;
  EXPECT_EQ(message_of([&] {
              conv2d(x, w, {}, {.dilation = {std::int64_t{1} << 31, 1}});
            }),
            "[conv2d] dilation must be in 1 ... 2^31 - 1, got 2147483648x1");
  EXPECT_EQ(message_of([&] { conv2d(x, w, {}, {.margins = {.top = wide, .bottom = wide}}); }),
            "[conv2d] margins must be in 0 ... 2^31 - 1, got 4611686018427387904, 4611686018427387904, 0, 0");
  EXPECT_THROW(zero_pad2d(x, {.top = 2 * (wide - 1) + 1, .bottom = 2 * (wide - 1) + 1}), UsageError);
}

TEST(Conv2dViews, StridedInputsAndOneWeightUsedTwice) {
  expect_gradients(
      [](const Variables& v) {
        const Conv2dOptions same{.padding = Padding::same, .epilogue = Epilogue::relu};
        const Variable h = conv2d(permute(v[0], {0, 2, 1, 3}), v[1], {}, same);
        return conv2d(h, v[1], {}, same) + h;
      },
      {random_tensor({1, 3, 4, 2}, 1), random_tensor({2, 2, 2, 2}, 2)});
}

TEST(Windows, FollowKeras) {
  struct Case {
    std::int64_t in, window, stride;
    Padding padding;
    std::int64_t out, before, after;
  };
  const Case cases[] = {
      {28, 3, 1, Padding::valid, 26, 0, 0}, {28, 3, 1, Padding::same, 28, 1, 1},
      {28, 2, 2, Padding::valid, 14, 0, 0}, {27, 2, 2, Padding::valid, 13, 0, 0},
      {27, 2, 2, Padding::same, 14, 0, 1},  {32, 3, 2, Padding::same, 16, 0, 1},
      {33, 3, 2, Padding::same, 17, 1, 1},  {224, 7, 2, Padding::same, 112, 2, 3},
      {5, 2, 1, Padding::same, 5, 0, 1},    {5, 1, 3, Padding::same, 2, 0, 0},
      {2, 5, 1, Padding::same, 2, 2, 2},    {3, 3, 5, Padding::valid, 1, 0, 0},
  };
  for (const Case& c : cases) {
    const Tensor image = Tensor::empty({1, c.in, c.in, 1});
    const Windows w =
        place_windows("test", image_size(image), {c.window, c.window}, {c.stride, c.stride}, c.padding);
    EXPECT_EQ(w.out, (Size2d{c.out, c.out})) << c.in << " by " << c.window;
    EXPECT_EQ(w.padding, (Padding2d{c.before, c.after, c.before, c.after})) << c.in << " by " << c.window;
  }
}

TEST(Conv2d, MaxPoolingBehindItIsTheSeparateOperation) {
  const std::vector<Tensor> inputs = {random_tensor({2, 6, 7, 2}, 1), random_tensor({3, 2, 2, 2}, 2),
                                      random_tensor({3}, 3)};
  const Pool2dOptions pools[] = {{}, {.window = {3, 2}, .stride = Size2d{2, 1}, .padding = Padding::same}};
  for (const Pool2dOptions& pool : pools)
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
      const auto fused = [&](const Variables& v) {
        return conv2d(v[0], v[1], v[2], {.epilogue = epilogue, .max_pool = pool});
      };
      const Variable apart =
          max_pool2d(conv2d(inputs[0], inputs[1], inputs[2], {.epilogue = epilogue}), pool);
      expect_close(fused({inputs[0], inputs[1], inputs[2]}).value(), apart.value().to_vector<double>(), 0,
                   "forward");
      expect_gradients(fused, inputs);
    }
}

TEST(Conv2dErrors, SayWhatDoesNotFit) {
  const Tensor x = random_tensor({1, 4, 4, 1});
  EXPECT_EQ(message_of([&] {
              conv2d(x, random_tensor({2, 3, 3, 3}));
            }),
            "[conv2d] weight expects 3 input channels, got 1");
  EXPECT_EQ(message_of([&] {
              conv2d(x, random_tensor({2, 5, 3, 1}));
            }),
            "[conv2d] a window of 5x3 does not fit into an image of 4x4");
  EXPECT_EQ(message_of([&] {
              conv2d(x, random_tensor({2, 3, 3, 1}), random_tensor({3}));
            }),
            "[conv2d] bias must be (2,), got shape (3,)");
  EXPECT_EQ(message_of([&] {
              conv2d(random_tensor({4, 4, 1}), random_tensor({2, 3, 3, 1}));
            }),
            "[conv2d] input must be (n, h, w, c), got shape (4, 4, 1)");
  EXPECT_EQ(message_of([&] {
              conv2d(x, random_tensor({2, 3, 3, 1}), {}, {.stride = {0, 1}});
            }),
            "[conv2d] window and stride must be positive, got 3x3 and 0x1");
  EXPECT_EQ(message_of([&] {
              conv2d(x, random_tensor({3, 3, 3, 1}), {}, {.groups = 2});
            }),
            "[conv2d] 3 filters in 2 groups");
  EXPECT_EQ(message_of([&] {
              conv2d(x, random_tensor({2, 3, 3, 1}).to(DType::f32));
            }),
            "[conv2d] inputs differ in dtype: f64 (1, 4, 4, 1) and f32 (2, 3, 3, 1)");
}

}  // namespace
}  // namespace ronde::test
