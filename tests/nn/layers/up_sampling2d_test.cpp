#include <ronde/nn/up_sampling2d.h>

#include <algorithm>
#include <cmath>

#include "nn/testing.h"

namespace ronde::test {
namespace {

/// One row or column, by the definition: the value at the middle of each new pixel.
struct Weights {
  std::int64_t first, second;
  double share;  // of the second
};
Weights weights_at(std::int64_t i, std::int64_t times, std::int64_t extent, Interpolation interpolation) {
  if (interpolation == Interpolation::nearest) return {i / times, i / times, 0.0};
  const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(times) - 0.5;
  const auto below = static_cast<std::int64_t>(std::floor(place));
  const auto inside = [&](std::int64_t k) { return std::clamp<std::int64_t>(k, 0, extent - 1); };
  return {inside(below), inside(below + 1), place - std::floor(place)};
}

std::vector<double> naive(const Tensor& image, const UpSampling2DOptions& o) {
  const std::vector<double> x = image.to_vector<double>();
  const std::int64_t n = image.size(0), h = image.size(1), w = image.size(2), c = image.size(3);
  std::vector<double> y;
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t i = 0; i < h * o.size.h; ++i)
      for (std::int64_t j = 0; j < w * o.size.w; ++j)
        for (std::int64_t q = 0; q < c; ++q) {
          const Weights rows = weights_at(i, o.size.h, h, o.interpolation);
          const Weights columns = weights_at(j, o.size.w, w, o.interpolation);
          const auto in_row = [&](std::int64_t row) {
            const auto at = [&](std::int64_t column) {
              return x[static_cast<std::size_t>(((b * h + row) * w + column) * c + q)];
            };
            return at(columns.first) * (1 - columns.share) + at(columns.second) * columns.share;
          };
          y.push_back(in_row(rows.first) * (1 - rows.share) + in_row(rows.second) * rows.share);
        }
  return y;
}

TEST(UpSampling2D, MatchesTheDefinitionAndItsGradients) {
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::bilinear})
    for (const Size2d size : {Size2d{2, 2}, {1, 3}, {4, 1}, {1, 1}}) {
      SCOPED_TRACE(
          cat(interpolation == Interpolation::nearest ? "nearest " : "bilinear ", size.h, "x", size.w));
      const UpSampling2DOptions options{.size = size, .interpolation = interpolation};
      UpSampling2D layer(options);
      const Tensor x = random_tensor({2, 3, 4, 2});
      EXPECT_EQ(layer(x).shape(), (Shape{2, 3 * size.h, 4 * size.w, 2}));
      expect_close(layer(x).value(), naive(x, options), 1e-14, "output");
      expect_module_gradients(layer, x);
      EXPECT_EQ(layer(Tensor::zeros({0, 3, 4, 2})).shape(), (Shape{0, 3 * size.h, 4 * size.w, 2}));
    }
}

TEST(UpSampling2D, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] {
              UpSampling2D none({.size = {0, 2}, .name = "up"});
            }),
            "[up] size must be in 1 ... 2147483647, got 0 x 2");
  EXPECT_EQ(message_of([] {
              UpSampling2D large({.size = {2, std::int64_t{1} << 31}, .name = "up"});
            }),
            "[up] size must be in 1 ... 2147483647, got 2 x 2147483648");
  EXPECT_EQ(
      message_of([] {
        UpSampling2D large({.size = {65537, 2}, .interpolation = Interpolation::bilinear, .name = "up"});
      }),
      "[up] size must be in 1 ... 65536, got 65537 x 2");
  EXPECT_THROW(UpSampling2D()(random_tensor({2, 3})), Error);
}

}  // namespace
}  // namespace ronde::test
