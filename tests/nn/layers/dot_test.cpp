// What Keras makes of the same numbers: keras_joins_test.cpp.
#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/dot.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Dot, IsTheNaiveSum) {
  const Tensor a = random_tensor({2, 3, 4}, 1), b = random_tensor({2, 4, 5}, 2);
  std::vector<double> expected;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 5; ++j) {
        double total = 0.0;
        for (std::int64_t k = 0; k < 4; ++k)
          total += a.data<double>()[(n * 3 + i) * 4 + k] * b.data<double>()[(n * 4 + k) * 5 + j];
        expected.push_back(total);
      }
  for (const Shape& axes : {Shape{2, 1}, Shape{-1, -2}}) {
    const Tensor y = Dot({.axes = axes})({a, b}).value();
    EXPECT_EQ(y.shape(), (Shape{2, 3, 5}));
    expect_close(y, expected, 1e-14, "sums");
  }
}

TEST(Dot, IsACosineOfNormalizedVectors) {
  Dot layer({.axes = {1}, .normalize = true});
  const Tensor a = f64_tensor({3, 2}, {3, 4, 0, 0, 1, 0}), b = f64_tensor({3, 2}, {6, 8, 1, 1, 1, 1});
  const Tensor y = layer({a, b}).value();
  EXPECT_EQ(y.shape(), (Shape{3, 1}));
  expect_close(y, {1.0, 0.0, std::sqrt(0.5)}, 1e-14, "cosines");
}

TEST(Dot, Gradients) {
  const auto expect = [](const DotOptions& options, const Shape& a, const Shape& b) {
    Dot layer(options);
    SCOPED_TRACE(cat(a, ' ', b, ' ', options.axes));
    expect_gradients([&](const Variables& v) { return layer(v); }, {random_tensor(a, 1), random_tensor(b, 2)},
                     {.tolerance = 1e-6});
  };
  for (const bool normalize : {false, true}) {
    expect({.axes = {1}, .normalize = normalize}, {2, 3}, {2, 3});
    expect({.axes = {2}, .normalize = normalize}, {2, 3, 4}, {2, 2, 4});
    expect({.axes = {1, 2}, .normalize = normalize}, {2, 3}, {2, 4, 3});
    expect({.axes = {2, 1}, .normalize = normalize}, {2, 2, 3, 2}, {2, 3, 2});
  }
  expect({.axes = {1}}, {0, 3}, {0, 3});
  Dot zeros({.axes = {1}, .normalize = true});
  const Variable x = Variable::parameter(Tensor::zeros({1, 2}));
  sum(zeros({x, Tensor::full({1, 2}, 1.0)})).backward();
  EXPECT_TRUE(std::isfinite(x.grad().to_vector<double>().front()));
}

TEST(Dot, ErrorsNameTheLayerAndBothShapes) {
  EXPECT_EQ(message_of([] { Dot({.axes = {0}, .name = "d"}); }),
            "[d] axes must be one for both inputs or one of each, and not the batch, got (0,)");
  for (const Shape& axes : {Shape{}, Shape{1, 0}, Shape{1, 1, 1}})
    EXPECT_THROW(Dot({.axes = axes}), UsageError) << to_string(axes);
  const Tensor a = random_tensor({1, 3, 4}), b = random_tensor({1, 4, 5});
  const auto message = [](const Shape& axes, const Variables& inputs) {
    return message_of([&] { Dot({.axes = axes})(inputs); });
  };
  EXPECT_EQ(message({1}, {a, b}),
            "[dot] cannot multiply inputs of shapes (1, 3, 4) and (1, 4, 5) along axes (1,)");
  EXPECT_EQ(message({3, 1}, {a, b}),
            "[dot] cannot multiply inputs of shapes (1, 3, 4) and (1, 4, 5) along axes (3, 1)");
  EXPECT_EQ(message({-3, 1}, {a, b}),
            "[dot] cannot multiply inputs of shapes (1, 3, 4) and (1, 4, 5) along axes (-3, 1)");
  EXPECT_EQ(message({2}, {a, a, a}), "[dot] takes two inputs, got 3");
  EXPECT_EQ(message_of([&] { Dot({.axes = {1}})(a); }), "[dot] takes two inputs, got 1");
  Dot layer({.axes = {1}});
  layer({random_tensor({1, 3}), random_tensor({1, 3})});
  EXPECT_EQ(message_of([&] {
              layer({random_tensor({2, 3}), random_tensor({3, 3})});
            }),
            "[dot] cannot multiply inputs of shapes (2, 3) and (3, 3) along axes (1,)");
}

TEST(Dot, DropsMasks) {
  Variable x = random_tensor({2, 3, 4});
  x.set_mask(Tensor::zeros({2, 3}));
  EXPECT_FALSE(Dot({.axes = {2}})({x, x}).mask().defined());
}

}  // namespace
}  // namespace ronde::test
