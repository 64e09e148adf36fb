/// Convolution as Keras defines it, written out: weights in Keras' layout, images (n, h, w, c), f64.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ronde/core/ops.h>

namespace ronde::test {

struct NaiveConv {
  Size2d stride{1, 1};
  Padding padding = Padding::valid;
  Size2d dilation{1, 1};
  std::int64_t groups = 1;
};

/// First input row (or column) of the window at output 0, and how many outputs there are.
struct NaiveAxis {
  std::int64_t begin, count;
  NaiveAxis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
            Padding padding) {
    const std::int64_t extent = (kernel - 1) * dilation + 1;
    count = padding == Padding::valid ? (in - extent) / stride + 1 : (in + stride - 1) / stride;
    const std::int64_t missing = std::max<std::int64_t>((count - 1) * stride + extent - in, 0);
    begin = padding == Padding::valid ? 0 : -(missing / 2);
  }
};

/// kernel (kh, kw, c / groups, filters); no bias.
inline Tensor naive_conv(const Tensor& image, const Tensor& kernel, NaiveConv o) {
  const std::vector<double> x = image.to_vector<double>(), k = kernel.to_vector<double>();
  const std::int64_t n = image.size(0), h = image.size(1), w = image.size(2), c = image.size(3);
  const std::int64_t kh = kernel.size(0), kw = kernel.size(1), ci = kernel.size(2), f = kernel.size(3);
  const NaiveAxis rows(h, kh, o.stride.h, o.dilation.h, o.padding);
  const NaiveAxis columns(w, kw, o.stride.w, o.dilation.w, o.padding);
  std::vector<double> y;
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t s = 0; s < columns.count; ++s)
        for (std::int64_t out = 0; out < f; ++out) {
          double sum = 0;
          const std::int64_t group = out / (f / o.groups);
          for (std::int64_t i = 0; i < kh; ++i)
            for (std::int64_t j = 0; j < kw; ++j)
              for (std::int64_t q = 0; q < ci; ++q) {
                const std::int64_t row = rows.begin + r * o.stride.h + i * o.dilation.h;
                const std::int64_t column = columns.begin + s * o.stride.w + j * o.dilation.w;
                if (row < 0 || row >= h || column < 0 || column >= w) continue;
                sum += x[static_cast<std::size_t>(((b * h + row) * w + column) * c + group * ci + q)] *
                       k[static_cast<std::size_t>(((i * kw + j) * ci + q) * f + out)];
              }
          y.push_back(sum);
        }
  return Tensor::from<double>({n, rows.count, columns.count, f}, y, &image.backend());
}

}  // namespace ronde::test
