#include <limits>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

const Shape kElementwiseShapes[] = {{0}, {1}, {17}, {3, 5, 7}, {2, 40000}};

struct UnaryCase {
  UnaryOp op;
  UnaryParams params;
  double low, high;
};

const UnaryCase kUnary[] = {
    {UnaryOp::affine, {-1.5, 0.25}, -2, 2},
    {UnaryOp::relu, {}, -2, 2},
    {UnaryOp::leaky_relu, {0.3, 0}, -2, 2},
    {UnaryOp::elu, {1.0, 0}, -2, 2},
    {UnaryOp::gelu, {}, -3, 3},
    {UnaryOp::silu, {}, -9, 9},
    {UnaryOp::sigmoid, {}, -20, 20},
    {UnaryOp::tanh, {}, -3, 3},
    {UnaryOp::exp, {}, -10, 10},
    {UnaryOp::log, {}, 0.1, 5},
    {UnaryOp::sqrt, {}, 0.1, 5},
    {UnaryOp::square, {}, -2, 2},
    {UnaryOp::abs, {}, -2, 2},
    {UnaryOp::power, {1.7, 0}, 0.1, 2},
    {UnaryOp::power, {2, 0}, -2, 2},
    {UnaryOp::power, {3, 0}, -2, 2},
    {UnaryOp::power, {-1, 0}, 0.1, 2},
    {UnaryOp::power, {-2, 0}, 0.1, 2},
    {UnaryOp::power, {0.5, 0}, 0.1, 2},
    {UnaryOp::power, {-0.5, 0}, 0.1, 2},
    {UnaryOp::clamp, {-0.5, 0.5}, -2, 2},
    {UnaryOp::clipped_relu, {0.5, 0}, -2, 2},
    {UnaryOp::softplus, {}, -20, 20},
    {UnaryOp::sin, {}, -7, 7},
    {UnaryOp::cos, {}, -7, 7},
};

TEST(Elementwise, UnaryFunctionsOfAllShapes) {
  for (const UnaryCase& c : kUnary)
    for (const Shape& shape : kElementwiseShapes) {
      SCOPED_TRACE(cat("op ", static_cast<int>(c.op), " ", shape));
      compare({blank(shape)}, {random(shape, 1, c.low, c.high)},
              [&](Backend& b, Tensors out, Tensors in) { b.unary(c.op, out[0], in[0], c.params); });
    }
}

TEST(Elementwise, UnaryGradients) {
  for (const UnaryCase& c : kUnary) {
    SCOPED_TRACE(cat("op ", static_cast<int>(c.op)));
    const Shape shape{3, 411};
    const Tensor x = random(shape, 1, c.low, c.high), y = Tensor::empty_like(x);
    oracle().unary(c.op, y, x, c.params);
    compare({blank(shape)}, {random(shape, 2), x, y.to(DType::f32).to(DType::f64)},
            [&](Backend& b, Tensors out, Tensors in) {
              b.unary_backward(c.op, out[0], in[0], in[1], in[2], c.params);
            });
  }
}

TEST(Elementwise, AReluGradientMayBeMadeInPlace) {
  for (const Shape& shape : kElementwiseShapes)
    compare({random(shape, 1)}, {random(shape, 2)}, [](Backend& b, Tensors out, Tensors in) {
      b.unary_backward(UnaryOp::relu, out[0], out[0], in[0], in[0], {});
    });
}

TEST(Elementwise, OfStridedViews) {
  compare({blank({7, 6})}, {random({6, 7}, 1)}, [](Backend& b, Tensors out, Tensors in) {
    b.unary(UnaryOp::relu, out[0], in[0].permute({1, 0}), {});
  });
}

// The part of images between margins, and a value for each channel of an image, stretched over its pixels.
TEST(Elementwise, OfViewsInRuns) {
  for (const std::int64_t channels : {1, 5, 17, 40}) {
    SCOPED_TRACE(cat(counted(channels, "channel")));
    const Shape whole{3, 31, 33, channels}, part{3, 29, 30, channels}, scale{3, 1, 1, channels};
    const auto inside = [](const Tensor& x) { return x.slice(1, 0, 29).slice(2, 1, 31); };
    const auto run = [&](const auto& op) {
      compare({random(part, 1), random(whole, 2)}, {random(whole, 3), random(part, 4), random(scale, 5)},
              [&](Backend& b, Tensors out, Tensors in) {
                op(b, out[0], inside(in[0]), in[1]);
                op(b, inside(out[1]), in[1], in[2].broadcast_to(part));
              });
    };
    using T = const Tensor&;
    run([](Backend& b, T y, T x, T) { b.unary(UnaryOp::clamp, y, x, {-0.5, 0.5}); });
    run([](Backend& b, T y, T x, T z) { b.unary_backward(UnaryOp::clamp, y, x, z, {}, {-0.5, 0.5}); });
    run([](Backend& b, T y, T x, T z) { b.unary_backward(UnaryOp::sigmoid, y, z, {}, x, {}); });
    run([](Backend& b, T y, T x, T z) { b.binary(BinaryOp::multiply, y, x, z); });
    run([](Backend& b, T y, T x, T z) { b.binary(BinaryOp::subtract, y, z, x); });
    run([](Backend& b, T y, T x, T) {
      b.binary(BinaryOp::add, y, x, Tensor::full({}, 0.5, x.options()).broadcast_to(x.shape()));
    });
    run([](Backend& b, T y, T x, T) { b.accumulate(y, x, -0.75); });
    run([](Backend& b, T y, T, T z) { b.copy(y, z); });
  }
}

// Kernels that take several elements at once need memory that begins well, and an end of their own.
TEST(Elementwise, ViewsMayBeginAnywhere) {
  for (const std::int64_t offset : {1, 2, 4, 8})
    for (const std::int64_t count : {1, 7, 8, 70}) {
      SCOPED_TRACE(cat(count, " from ", offset));
      const auto part = [&](const Tensor& x) { return x.view(offset, {count}); };
      const auto run = [&](const auto& op) {
        compare({random({80}, 1)}, {random({80}, 2), random({80}, 3)},
                [&](Backend& b, Tensors out, Tensors in) { op(b, part(out[0]), part(in[0]), part(in[1])); });
      };
      using T = const Tensor&;
      run([](Backend& b, T y, T x, T) { b.unary(UnaryOp::relu, y, x, {}); });
      run([](Backend& b, T y, T x, T) { b.unary(UnaryOp::affine, y, x, {-1.5, 0.25}); });
      run([](Backend& b, T y, T x, T z) { b.unary_backward(UnaryOp::relu, y, x, {}, z, {}); });
      run([](Backend& b, T y, T x, T z) { b.binary(BinaryOp::subtract, y, x, z); });
      run([](Backend& b, T y, T x, T z) { b.binary(BinaryOp::add_relu, y, x, z); });
      run([](Backend& b, T y, T x, T) { b.accumulate(y, x, -0.75); });
    }
}

// Results near 0 have as many digits as others.
TEST(Elementwise, LogarithmsOfAllMagnitudes) {
  const auto expect = [](UnaryOp op, const Values& values, double (*exact)(double)) {
    for (Backend* backend : tested_backends()) {
      SCOPED_TRACE(backend->name());
      const Tensor x = tensor(*backend, {static_cast<std::int64_t>(values.size())}, values, DType::f32),
                   y = Tensor::empty_like(x);
      backend->unary(op, y, x, {});
      const std::vector<float> given = x.to_vector<float>(), got = y.to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double want = exact(static_cast<double>(given[i]));
        EXPECT_NEAR(static_cast<double>(got[i]), want, 4e-7 * std::abs(want)) << given[i];
      }
    }
  };
  Values positive, all;
  for (double x = 1.2e-38; x < 3e38; x *= 1.37) positive.push_back(x);
  for (double step = 1e-7; step < 1; step *= 1.7) positive.insert(positive.end(), {1 - step / 2, 1 + step});
  expect(UnaryOp::log, positive, [](double x) { return std::log(x); });
  for (double x = 1e-3; x < 85; x *= 1.11) all.insert(all.end(), {x, -x});
  expect(UnaryOp::softplus, all, [](double x) { return std::log1p(std::exp(x)); });
}

TEST(Elementwise, SpecialValuesStaySpecial) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Values values{nan, inf, -inf, 0.0, -0.0, 90.0, -90.0, 1e30, -1e30};
  for (const UnaryOp op : {UnaryOp::relu, UnaryOp::leaky_relu, UnaryOp::sigmoid, UnaryOp::exp, UnaryOp::abs,
                           UnaryOp::clamp, UnaryOp::square, UnaryOp::tanh, UnaryOp::elu, UnaryOp::gelu,
                           UnaryOp::silu, UnaryOp::log, UnaryOp::softplus}) {
    SCOPED_TRACE(cat("op ", static_cast<int>(op)));
    const Shape shape{static_cast<std::int64_t>(values.size())};
    for (Backend* backend : tested_backends()) {
      SCOPED_TRACE(backend->name());
      const Tensor y = unwritten(*backend, shape, DType::f32), want = unwritten(oracle(), shape, DType::f32);
      backend->unary(op, y, tensor(*backend, shape, values, DType::f32), {0.5, 0.75});
      oracle().unary(op, want, tensor(oracle(), shape, values, DType::f32), {0.5, 0.75});
      const auto got = y.to_vector<float>(), expected = want.to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i)
        if (std::isnan(expected[i]))
          EXPECT_TRUE(std::isnan(got[i])) << values[i];
        else if (std::isinf(expected[i]))
          EXPECT_EQ(got[i], expected[i]) << values[i];
        else
          EXPECT_NEAR(got[i], expected[i], 1e-6 * std::abs(expected[i]) + 1e-37) << values[i];
    }
  }
}

// At x and -x of each magnitude.
void expect_relative_errors(std::initializer_list<UnaryOp> ops, std::initializer_list<double> magnitudes) {
  Values values;
  for (const double magnitude : magnitudes) values.insert(values.end(), {magnitude, -magnitude});
  const Shape shape{static_cast<std::int64_t>(values.size())};
  for (const UnaryOp op : ops) {
    SCOPED_TRACE(cat("op ", static_cast<int>(op)));
    for (Backend* backend : tested_backends()) {
      SCOPED_TRACE(backend->name());
      const Tensor x = tensor(*backend, shape, values, DType::f32),
                   y = unwritten(*backend, shape, DType::f32);
      const Tensor want = unwritten(oracle(), shape, DType::f64);
      backend->unary(op, y, x, {});
      oracle().unary(op, want, x.to(oracle()).to(DType::f64), {});
      const auto got = y.to_vector<double>(), expected = want.to_vector<double>();
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], expected[i], 4e-6 * std::abs(expected[i])) << values[i];
    }
  }
}

// Also where a result is tiny: expm1(x) and tanh(x) near 0, gelu(x) far below 0.
TEST(Elementwise, RelativeErrors) {
  expect_relative_errors(
      {UnaryOp::elu, UnaryOp::gelu, UnaryOp::silu, UnaryOp::sigmoid, UnaryOp::tanh, UnaryOp::exp},
      {1e-30, 1e-8, 1e-4, 0.01, 0.2, 0.34, 0.36, 1.0, 1.1, 2.9, 4.7, 7.5, 8.9});
}

// Down to the smallest normal numbers.
TEST(Elementwise, RelativeErrorsOfExponentials) {
  expect_relative_errors({UnaryOp::silu, UnaryOp::sigmoid, UnaryOp::exp},
                         {11.0, 17.3, 33.3, 60.9, 80.1, 86.6, 87.0});
}

TEST(Elementwise, BinaryFunctions) {
  using enum BinaryOp;
  for (const BinaryOp op : {add, subtract, multiply, divide, maximum, minimum, equal, greater, add_relu})
    for (const Shape& shape : kElementwiseShapes) {
      SCOPED_TRACE(cat("op ", static_cast<int>(op), " ", shape));
      const Tensor a = random(shape, 1), b = random(shape, 2, 0.5, 2);
      const auto run = [&](Backend& backend, Tensors out, Tensors in) {
        backend.binary(op, out[0], in[0], in[1].broadcast_to(shape));
      };
      compare({blank(shape)}, {a, b}, run);
      compare({blank(shape)}, {a, random(Shape{1}, 3, 0.5, 2)}, run);
    }
}

TEST(Elementwise, AReluOfASumHidesNoNan) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (Backend* backend : tested_backends()) {
    SCOPED_TRACE(backend->name());
    const Tensor a = tensor(*backend, {6}, {nan, 1, inf, -inf, inf, -2}, DType::f32),
                 b = tensor(*backend, {6}, {1, nan, -inf, 1, 1, 1}, DType::f32),
                 y = unwritten(*backend, {6}, DType::f32);
    backend->binary(BinaryOp::add_relu, y, a, b);
    const auto got = y.to_vector<double>();
    for (const std::size_t i : {0, 1, 2}) EXPECT_TRUE(std::isnan(got[i])) << i;
    EXPECT_EQ(Values(got.begin() + 3, got.end()), (Values{0, inf, 0}));
  }
}

TEST(Elementwise, BinaryBroadcastsRowsAndColumns) {
  for (const Shape& shape : {Shape{5, 7}, Shape{60, 200, 3}, Shape{3, 700, 15}})
    for (const Shape& other :
         {Shape{shape.back()}, shape.rank() == 2 ? Shape{shape[0], 1} : Shape{shape[0], 1, 1}})
      compare({blank(shape)}, {random(shape, 1), random(other, 2)}, [&](Backend& b, Tensors out, Tensors in) {
        b.binary(BinaryOp::subtract, out[0], in[0], in[1].broadcast_to(shape));
      });
}

TEST(Elementwise, Accumulate) {
  for (const Shape& shape : kElementwiseShapes)
    compare({random(shape, 1)}, {random(shape, 2)},
            [](Backend& b, Tensors out, Tensors in) { b.accumulate(out[0], in[0], -0.75); });
}

TEST(Elementwise, AccumulateOfFloatsInDouble) {
  for_each_setting(
      [](Backend& backend, DType) {
        const TensorOptions precise{.dtype = DType::f64, .backend = &backend};
        const Tensor x = Tensor::from<double>({3}, std::vector{1e9, 0.0, -2.0}, &backend).to(DType::f64),
                     y = Tensor::from<float>({3}, std::vector{0.125f, 3.0f, 2.0f}, &backend);
        backend.accumulate(x, y, 0.5);
        EXPECT_EQ(x.to_vector<double>(), (std::vector{1e9 + 0.0625, 1.5, -1.0}));
        const Tensor total = Tensor::full({}, 7.0, precise);
        backend.accumulate(total, y.view(1, {}), 1.0);
        EXPECT_EQ(total.item(), 10.0);
      },
      {DType::f32});
}

// By itself, with the gradient of a bias, and where the gradient already lies.
TEST(Elementwise, ReluBackward) {
  for (const Shape& shape :
       {Shape{0, 3}, Shape{1, 1}, Shape{5, 7}, Shape{2, 3, 3, 8}, Shape{1000, 16}, Shape{3, 300}})
    for (const double scale : {1.0, 1.25}) {
      SCOPED_TRACE(cat(shape, " scale ", scale));
      compare({blank(shape), blank(shape), blank({shape.back()}), random(shape, 3)},
              {random(shape, 1), random(shape, 2)},
              [&](Backend& b, Tensors out, Tensors in) {
                b.relu_backward(out[0], {}, in[0], in[1], scale);
                b.relu_backward(out[1], out[2], in[0], in[1], scale);
                b.relu_backward(out[3], {}, out[3], in[1], scale);
              },
              {.f32 = 4e-6});
    }
}

// A limit that is none of bf16's numbers is rounded with the result: what has reached it passes no gradient.
TEST(Elementwise, NoGradientPassesAClippedReluAtItsRoundedLimit) {
  const auto check = [](Backend& b, DType dtype) {
    const Tensor values = Tensor::from<float>({5}, {100, 7, 6, 1, -1}, &b);
    for (const double limit : {6.1, 6.11}) {  // the next of bf16 is below, above
      const Variable x = Variable::parameter(values.to(dtype));
      clipped_relu(x, limit).backward(Tensor::full({5}, 1, x.value().options()));
      EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 0})) << limit;
    }
  };
  for_each_setting(check, {DType::f32, DType::f64, DType::bf16});
}

// What whole and half powers of zeros and infinities are, as pow has it.
TEST(Elementwise, PowersOfTheEndsOfTheNumbers) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0, -0.0, infinity, -infinity, std::nan(""), -2.0, 1e-12, -1e12};
  for (const double exponent : {2.0, 3.0, -1.0, -2.0, 0.5, -0.5})
    for_each_setting(
        [&](Backend& backend, DType dtype) {
          const Tensor x = Tensor::from<double>({8}, values, &backend).to(dtype), y = Tensor::empty_like(x);
          backend.unary(UnaryOp::power, y, x, {.alpha = exponent});
          const std::vector<double> at = x.to_vector<double>(), results = y.to_vector<double>();
          for (std::size_t i = 0; i < values.size(); ++i) {
            SCOPED_TRACE(cat(at[i], " to the power of ", exponent));
            const double expected = std::pow(at[i], exponent);
            const double kept = dtype == DType::f32 ? static_cast<float>(expected) : expected;
            if (std::isnan(kept))
              EXPECT_TRUE(std::isnan(results[i])) << results[i];
            else if (std::isinf(kept) || kept == 0)
              EXPECT_EQ(results[i], kept);
            else
              EXPECT_NEAR(results[i] / kept, 1, 1e-6);
          }
        },
        {DType::f32, DType::f64});
}

// One value of a row, of an image, or of a column beside others, on either side.
TEST(Elementwise, OfValuesThatAreStretchedOverRuns) {
  using enum BinaryOp;
  const auto stretched = [](const Tensor& x, const Shape& to) { return x.broadcast_to(to); };
  for (const BinaryOp op : {add, subtract, multiply, divide, maximum})
    for (const auto& shapes : {std::pair<Shape, Shape>{{4, 33, 20}, {33, 1}},
                               {{4, 33, 20}, {4, 1, 1}},
                               {{30, 700}, {30, 1}},
                               {{3, 5, 17}, {3, 1, 17}}}) {
      const Shape &shape = shapes.first, &one = shapes.second;
      SCOPED_TRACE(cat("op ", static_cast<int>(op), " ", shape, " ", one));
      compare({blank(shape), blank(shape)}, {random(shape, 1, 0.5, 2), random(one, 2, 0.5, 2)},
              [&](Backend& b, Tensors out, Tensors in) {
                b.binary(op, out[0], in[0], stretched(in[1], shape));
                b.binary(op, out[1], stretched(in[1], shape), in[0]);
              });
    }
  compare({blank({70, 600})}, {random({70, 1}, 1), random({1, 600}, 2)},
          [&](Backend& b, Tensors out, Tensors in) {
            b.binary(multiply, out[0], stretched(in[0], {70, 600}), stretched(in[1], {70, 600}));
          });
}

TEST(Elementwise, CopiesOfViewsWhoseAxesAreExchanged) {
  for (const auto& view : {std::pair<Shape, Shape>{{33, 70}, {1, 0}},
                           {{200, 130}, {1, 0}},
                           {{3, 9, 10, 32}, {0, 3, 1, 2}},
                           {{3, 32, 10, 9}, {0, 2, 3, 1}},
                           {{2, 17, 5, 24}, {3, 2, 1, 0}},
                           {{8, 3, 8}, {2, 1, 0}},
                           {{7, 40}, {1, 0}},
                           {{0, 40}, {1, 0}}}) {
    const Shape &shape = view.first, &axes = view.second;
    SCOPED_TRACE(cat(shape, " ", axes));
    std::vector<std::int64_t> exchanged;
    for (const std::int64_t axis : axes) exchanged.push_back(shape[static_cast<int>(axis)]);
    const Shape out{std::span<const std::int64_t>(exchanged)};
    compare({blank(out)}, {random(shape, 1)},
            [&](Backend& b, Tensors to, Tensors in) { b.copy(to[0], in[0].permute(axes)); });
    // Out of a larger tensor, and into one.
    compare({blank(shape)}, {random(out, 1)},
            [&](Backend& b, Tensors to, Tensors in) { b.copy(to[0].permute(axes), in[0]); });
  }
}

TEST(Elementwise, FillAndCopy) {
  for (const Shape& shape : kElementwiseShapes)
    compare({blank(shape), blank(shape)}, {random(shape, 2)}, [](Backend& b, Tensors out, Tensors in) {
      b.fill(out[0], 0.625);
      b.copy(out[1], in[0]);
    });
}

}  // namespace
}  // namespace ronde::test
