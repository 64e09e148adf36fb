#include <ronde/data/patch_whitening.h>

#include "data/augmentation_testing.h"

namespace ronde {
namespace {

using namespace test;

/// What the convolution makes of all patches of 2 x 2 pixels: second moments of its first half of filters.
TEST(PatchWhitening, OutputsHaveVarianceOneAndAreNotCorrelated) {
  constexpr std::int64_t n = 6, h = 5, w = 4, c = 2, values = 2 * 2 * c;
  const Tensor images = picture({n, h, w, c});
  const Tensor kernel = patch_whitening_kernel(images, {.kernel = 2, .epsilon = 0.0});
  ASSERT_EQ(kernel.shape(), (Shape{2 * values, 2, 2, c}));
  const auto x = images.to_vector<double>(), k = kernel.to_vector<double>();
  const auto output = [&](std::int64_t filter, std::int64_t i, std::int64_t y, std::int64_t column) {
    double sum = 0.0;
    for (std::int64_t dy = 0; dy < 2; ++dy)
      for (std::int64_t j = 0; j < 2 * c; ++j)
        sum += k[static_cast<std::size_t>(filter * values + dy * 2 * c + j)] *
               x[static_cast<std::size_t>(((i * h + y + dy) * w + column) * c + j)];
    return sum;
  };
  for (std::int64_t a = 0; a < values; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double moment = 0.0, opposite = 0.0;
      for (std::int64_t p = 0; p < n * (h - 1) * (w - 1); ++p) {
        const std::int64_t i = p / ((h - 1) * (w - 1)), y = p / (w - 1) % (h - 1), column = p % (w - 1);
        moment += output(a, i, y, column) * output(b, i, y, column);
        opposite += output(a, i, y, column) * output(b + values, i, y, column);
      }
      const double count = n * (h - 1) * (w - 1);
      EXPECT_NEAR(moment / count, a == b ? 1.0 : 0.0, 1e-4) << a << ", " << b;
      EXPECT_NEAR(opposite / count, a == b ? -1.0 : 0.0, 1e-4) << a << ", " << b;
    }
  }
}

TEST(PatchWhitening, PutsTheStrongestFirstAndLeavesTheConstantSmall) {
  // One channel of noise, one that hardly changes: epsilon limits what would be blown up.
  Tensor images = picture({40, 3, 3, 1});
  const auto length = [](const Tensor& kernel, std::int64_t filter) {
    double squares = 0.0;
    for (const double value : kernel.slice(0, filter, filter + 1).to_vector<double>())
      squares += value * value;
    return std::sqrt(squares);
  };
  const Tensor kernel = patch_whitening_kernel(images, {.kernel = 2, .epsilon = 1e-3});
  for (std::int64_t i = 1; i < 4; ++i) EXPECT_GE(length(kernel, i), length(kernel, i - 1));
  const Tensor flat = Tensor::zeros({2, 3, 3, 1}, {.dtype = DType::f64});
  EXPECT_NEAR(length(patch_whitening_kernel(flat, {.epsilon = 0.25}), 0), 2.0, 1e-6);
  EXPECT_THROW(patch_whitening_kernel(flat, {.kernel = 4}), UsageError);
}

}  // namespace
}  // namespace ronde
