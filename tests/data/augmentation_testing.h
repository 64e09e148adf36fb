/// Pictures, and an oracle, for the tests of augmentation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <ronde/data/image_data_generator.h>

#include "data/testing.h"

namespace ronde::test {

/// Values without any pattern, in [0, 1).
inline Tensor picture(const Shape& shape, DType dtype = DType::f64) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.count(); ++i)
    values.push_back(uniform_float(philox(7, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]));
  return host<double>(shape, values).to(dtype);
}

inline Tensor augmented(const Augmentation& augmentation, const Tensor& image, SampleKey key = {},
                        std::uint64_t seed = 0) {
  const Tensor copy = image.clone();
  AugmentationRandom random(seed, key);
  augmentation.apply(copy, random);
  return copy;
}

inline void expect_near(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const auto a = actual.to_vector<double>(), b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

// --- an oracle that shares nothing with the implementation: pixel by pixel, in f64

inline double stored_pixel(const std::vector<double>& image, const Shape& shape, std::int64_t y,
                           std::int64_t x, std::int64_t c, FillMode mode) {
  const auto inside = [mode](std::int64_t i, std::int64_t n) {
    if (mode != FillMode::reflect) return i < 0 ? 0 : i >= n ? n - 1 : i;
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
  };
  y = inside(y, shape[0]), x = inside(x, shape[1]);
  return image[static_cast<std::size_t>((y * shape[1] + x) * shape[2] + c)];
}

inline Tensor naive_resample(const Tensor& in, const AffineMap& map, const Fill& fill) {
  const Shape shape = in.shape();
  const auto image = in.to_vector<double>();
  const double cx = static_cast<double>(shape[1] - 1) / 2, cy = static_cast<double>(shape[0] - 1) / 2;
  std::vector<double> out;
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const std::int64_t c = i % shape[2];
    const double x = static_cast<double>(i / shape[2] % shape[1]) - cx;
    const double y = static_cast<double>(i / shape[2] / shape[1]) - cy;
    const double sx = map.xx * x + map.xy * y + map.x0 + cx, sy = map.yx * x + map.yy * y + map.y0 + cy;
    if (fill.mode == FillMode::constant && (sx < 0 || sy < 0 || sx > static_cast<double>(shape[1] - 1) ||
                                            sy > static_cast<double>(shape[0] - 1))) {
      out.push_back(fill.value);
      continue;
    }
    double sum = 0;
    for (const int dy : {0, 1})
      for (const int dx : {0, 1}) {
        const double fy = std::floor(sy) + dy, fx = std::floor(sx) + dx;
        sum += (1 - std::abs(sy - fy)) * (1 - std::abs(sx - fx)) *
               stored_pixel(image, shape, std::llround(fy), std::llround(fx), c, fill.mode);
      }
    out.push_back(sum);
  }
  return host<double>(shape, out);
}

inline Tensor resampled(const Tensor& in, const AffineMap& map, const Fill& fill = {}) {
  const Tensor out = Tensor::full(in.shape(), 99.0, in.options());
  resample(out, in, map, fill);
  return out;
}

inline std::vector<Fill> fills() {
  return {{}, {.mode = FillMode::constant, .value = 0.3}, {.mode = FillMode::reflect}};
}

/// A chain of several kinds.
inline Augment everything() {
  return Augment(RandomShift({.width_shift_range = 0.1, .height_shift_range = 0.1}),
                 RandomFlip({.horizontal_flip = true}), RandomBrightness({.brightness_range = {0.8, 1.2}}),
                 Cutout({.size = 3}));
}

}  // namespace ronde::test
