#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

const Pool2dOptions kOptions[] = {
    {},
    {.window = {3, 2}},
    {.window = {3, 3}, .stride = Size2d{2, 2}},
    {.window = {3, 3}, .stride = Size2d{1, 2}, .padding = Padding::same},
    {.window = {2, 2}, .padding = Padding::same},
    {.window = {1, 1}, .stride = Size2d{2, 3}},
};

TEST(Pool2d, Values) {
  const Tensor x = f64_tensor({1, 3, 3, 1}, {1, 2, 3, 4, 5, -6, 7, 8, 9});
  expect_close(max_pool2d(x).value(), {5}, 0, "max, valid");
  expect_close(average_pool2d(x).value(), {3}, 0, "average, valid");
  expect_close(max_pool2d(x, {.padding = Padding::same}).value(), {5, 3, 8, 9}, 0, "max, same");
  // Padding at the bottom and right does not count.
  expect_close(average_pool2d(x, {.padding = Padding::same}).value(), {3, -1.5, 7.5, 9}, 0, "average, same");
  expect_close(max_pool2d(-Variable(x), {.padding = Padding::same}).value(), {-1, 6, -7, -9}, 0,
               "padding never wins");
  expect_close(global_average_pool2d(x).value(), {33.0 / 9.0}, 1e-15, "global");
}

TEST(Pool2d, Gradients) {
  for (const Pool2dOptions& options : kOptions)
    for (const Shape& shape : {Shape{2, 5, 6, 2}, Shape{1, 3, 3, 1}, Shape{0, 4, 4, 2}}) {
      const std::vector<Tensor> x{random_tensor(shape, 5)};
      expect_gradients([&](const Variables& v) { return max_pool2d(v[0], options); }, x);
      expect_gradients([&](const Variables& v) { return average_pool2d(v[0], options); }, x);
    }
  expect_gradients([](const Variables& v) { return global_average_pool2d(v[0]); },
                   {random_tensor({2, 3, 4, 2})});
}

TEST(Pool2d, WindowTooLargeForAByte) {
  // Growing values: the maximum is element 271 of its window of 272.
  const Pool2dOptions wide{.window = {17, 16}, .stride = Size2d{1, 1}};
  std::vector<double> ramp(18 * 17);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 0.01 * static_cast<double>(i);
  expect_gradients([&](const Variables& v) { return max_pool2d(v[0], wide); },
                   {f64_tensor({1, 18, 17, 1}, ramp)});
}

// The last place of a window of 256 is the last that a byte holds.
TEST(Pool2d, WindowAroundTheEndOfAByte) {
  for (const std::int64_t width : {256, 257}) {
    Variable x = Variable::parameter(
        Tensor::zeros({1, 1, width, 1}, {.dtype = DType::f64, .backend = &backend("cpu")}));
    x.value().view(width - 1, {1}).fill(1.0);
    sum(max_pool2d(x, {.window = {1, width}})).backward();
    EXPECT_EQ(x.grad().view(width - 1, {1}).item(), 1.0) << width;
  }
}

TEST(Pool2d, OfAView) {
  expect_gradients(
      [](const Variables& v) {
        return max_pool2d(permute(v[0], {0, 2, 1, 3}));
      },
      {random_tensor({1, 4, 5, 2})});
  expect_gradients([](const Variables& v) { return average_pool2d(slice(v[0], 2, 1, 4)); },
                   {random_tensor({1, 4, 5, 2})});
}

TEST(Pool2d, FirstOfEqualElementsTakesTheGradient) {
  Variable x = Variable::parameter(f64_tensor({1, 2, 2, 1}, {1, 3, 3, 3}));
  sum(max_pool2d(x)).backward();
  expect_close(x.grad(), {0, 1, 0, 0}, 0, "first maximum");
}

TEST(Pool2d, SaysWhatDoesNotFit) {
  EXPECT_EQ(message_of([] {
              max_pool2d(random_tensor({1, 1, 4, 1}));
            }),
            "[max_pool2d] a window of 2x2 does not fit into an image of 1x4");
  EXPECT_EQ(message_of([] {
              average_pool2d(random_tensor({4, 4}));
            }),
            "[average_pool2d] input must be (n, h, w, c), got shape (4, 4)");
  EXPECT_EQ(message_of([] {
              global_average_pool2d(random_tensor({4, 4}));
            }),
            "[global_average_pool2d] input must be (n, h, w, c), got shape (4, 4)");
}

// The places in a window are numbered by i32, and 2^32 * 2^32 would be 0 in 64 bits.
TEST(Pool2d, WindowsOfTooManyElements) {
  const std::int64_t wide = std::int64_t{1} << 32;
  for (const Size2d window : {Size2d{wide, 1}, Size2d{65536, 65536}, Size2d{wide, wide}}) {
    const Pool2dOptions options{.window = window, .padding = Padding::same};
    EXPECT_THROW(max_pool2d(random_tensor({1, 3, 3, 1}), options), UsageError) << window.h;
    EXPECT_THROW(average_pool2d(random_tensor({1, 3, 3, 1}), options), UsageError) << window.h;
  }
  EXPECT_EQ(message_of([] {
              max_pool2d(random_tensor({1, 3, 3, 1}), {.window = {70000, 70000}, .padding = Padding::same});
            }),
            "[max_pool2d] a window must have at most 2^31 - 1 elements, got 4900000000");
}

TEST(Pool2d, TheLargestWindow) {
  const std::int64_t most = (std::int64_t{1} << 31) - 1;
  const Pool2dOptions options{.window = {most, 1}, .stride = Size2d{1, 1}, .padding = Padding::same};
  Variable x = Variable::parameter(f64_tensor({1, 3, 1, 1}, {1, 2, 3}));
  const Variable y = max_pool2d(x, options);
  expect_close(y.value(), {3, 3, 3}, 0, "the image's maximum");
  sum(y).backward();
  expect_close(x.grad(), {0, 0, 3}, 0, "gradient");
}

}  // namespace
}  // namespace ronde::test
