#include <limits>

#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/max_pooling2d.h>

#include "nn/layers/naive_conv.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

struct PoolCase {
  Size2d pool, strides;
  Padding padding;
};

constexpr PoolCase kPoolCases[] = {{{2, 2}, {2, 2}, Padding::valid},
                                   {{3, 2}, {1, 2}, Padding::valid},
                                   {{3, 3}, {2, 2}, Padding::same},
                                   {{2, 3}, {3, 1}, Padding::same}};

/// Largest value and mean of each window; padding does not count.
struct Pooled {
  Shape shape;
  std::vector<double> largest, mean;
};

Pooled naive_pool(const Tensor& image, const PoolCase& o) {
  const std::vector<double> x = image.to_vector<double>();
  const std::int64_t n = image.size(0), h = image.size(1), w = image.size(2), c = image.size(3);
  const NaiveAxis rows(h, o.pool.h, o.strides.h, 1, o.padding),
      columns(w, o.pool.w, o.strides.w, 1, o.padding);
  Pooled result{{n, rows.count, columns.count, c}, {}, {}};
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t s = 0; s < columns.count; ++s)
        for (std::int64_t q = 0; q < c; ++q) {
          double largest = -std::numeric_limits<double>::infinity(), sum = 0;
          int count = 0;
          for (std::int64_t i = 0; i < o.pool.h; ++i)
            for (std::int64_t j = 0; j < o.pool.w; ++j) {
              const std::int64_t row = rows.begin + r * o.strides.h + i;
              const std::int64_t column = columns.begin + s * o.strides.w + j;
              if (row < 0 || row >= h || column < 0 || column >= w) continue;
              const double value = x[static_cast<std::size_t>(((b * h + row) * w + column) * c + q)];
              largest = std::max(largest, value);
              sum += value;
              ++count;
            }
          result.largest.push_back(largest);
          result.mean.push_back(sum / count);
        }
  return result;
}

TEST(Pooling2D, MatchesNaiveWindowsAndTheirGradients) {
  const Tensor x = random_tensor({2, 7, 6, 3}, 3, -2.0, -1.0);  // below zero: padding must not win
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(&c - kPoolCases);
    const Pooling2DOptions options{.pool = c.pool, .strides = c.strides, .padding = c.padding};
    MaxPooling2D max(options);
    AveragePooling2D average(options);
    const Pooled expected = naive_pool(x, c);
    EXPECT_EQ(max(x).shape(), expected.shape);
    expect_close(max(x).value(), expected.largest, 0.0, "max");
    expect_close(average(x).value(), expected.mean, 1e-14, "average");
    expect_module_gradients(max, x);
    expect_module_gradients(average, x);
  }
}

TEST(Pooling2D, StrideIsThePoolByDefault) {
  MaxPooling2D pool({.pool = {3, 2}});
  pool.build({9, 8, 1});
  EXPECT_EQ(pool.output_shape(), (Shape{1, 3, 4, 1}));
  EXPECT_EQ(pool.parameter_count(), 0);
}

TEST(Pooling2D, NamesItselfInErrors) {
  EXPECT_THROW(MaxPooling2D({.pool = {0, 2}}), UsageError);
  AveragePooling2D pool({.pool = {4, 4}, .name = "last"});
  EXPECT_EQ(message_of([&] {
              pool.build({3, 5, 1});
            }),
            "[last] a window of 4 x 4 does not fit into images of 3 x 5");
}

TEST(GlobalAveragePooling2D, IsTheMeanOfEachChannel) {
  GlobalAveragePooling2D pool, keeping({.keepdims = true, .name = "keeping"});
  const Tensor x = random_tensor({2, 3, 4, 5});
  const Pooled expected = naive_pool(x, {{3, 4}, {3, 4}, Padding::valid});
  EXPECT_EQ(pool(x).shape(), (Shape{2, 5}));
  EXPECT_EQ(keeping(x).shape(), (Shape{2, 1, 1, 5}));
  EXPECT_EQ(keeping(x).value().to_vector<double>(), pool(x).value().to_vector<double>());
  expect_module_gradients(keeping, x);
  expect_close(pool(x).value(), expected.mean, 1e-14, "mean");
  expect_module_gradients(pool, x);
  EXPECT_THROW(pool(random_tensor({2, 3})), Error);
}

TEST(GlobalMaxPooling2D, IsTheLargestOfEachChannel) {
  GlobalMaxPooling2D pool, keeping({.keepdims = true, .name = "keeping"});
  const Tensor x = random_tensor({2, 3, 4, 5});
  const Pooled expected = naive_pool(x, {{3, 4}, {3, 4}, Padding::valid});
  EXPECT_EQ(pool(x).shape(), (Shape{2, 5}));
  EXPECT_EQ(keeping(x).shape(), (Shape{2, 1, 1, 5}));
  EXPECT_EQ(keeping(x).value().to_vector<double>(), pool(x).value().to_vector<double>());
  expect_module_gradients(keeping, x);
  expect_close(pool(x).value(), expected.largest, 0.0, "max");
  expect_module_gradients(pool, x);
  EXPECT_THROW(pool(random_tensor({2, 3})), Error);
}

}  // namespace
}  // namespace ronde::test
