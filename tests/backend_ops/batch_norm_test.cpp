#include <algorithm>
#include <cmath>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

// Rows of a few columns, which kernels take some at a time, and of more than they take at once; also so many
// that a few are left over.
const Shape kBatchNormShapes[] = {{1, 1},    {7, 3},    {2, 5, 5, 17}, {3, 20, 20, 64}, {5, 300}, {0, 4},
                                  {263, 16}, {133, 32}, {70, 24},      {65, 48},        {517, 8}, {66, 5}};

TEST(BatchNorm, Statistics) {
  for (const Shape& shape : kBatchNormShapes) {
    SCOPED_TRACE(cat(shape));
    const Shape c{shape.back()};
    compare({blank(c), blank(c)}, {random(shape, 1, 4, 6)},
            [](Backend& b, Tensors out, Tensors in) { b.batch_statistics(out[0], out[1], in[0]); });
  }
}

// Means of a thousand and a million deviations, as floats have 24 bits; a first row as far from all others,
// that is no origin to measure distances from.
TEST(BatchNorm, StatisticsFarFromZeroAndFromTheFirstRow) {
  for (const Shape& shape : {Shape{700, 16}, Shape{90, 70}, Shape{301, 3}})
    for (const auto& [middle, first] :
         {std::pair(1e3, 1e3), std::pair(1e3, 0.0), std::pair(1e3, 1e6), std::pair(1e6, 1e6)}) {
      SCOPED_TRACE(cat(shape, " about ", middle, ", first row ", first));
      Values values = random_values(shape.count(), 5);
      for (double& v : values) v = static_cast<double>(static_cast<float>(middle + v));
      std::fill_n(values.begin(), shape.back(), first);
      const Tensor x = tensor(oracle(), shape, values, DType::f64);
      const Shape c{shape.back()};
      compare({blank(c), blank(c)}, {x},
              [](Backend& b, Tensors out, Tensors in) { b.batch_statistics(out[0], out[1], in[0]); },
              {.f32 = 1e-5, .f64 = 1e-12, .bf16 = 0});
    }
}

// Whatever rounding makes of equal values: of a negative variance there is no root.
TEST(BatchNorm, NoVarianceIsNegative) {
  const Shape shape{1000, 64}, c{64};
  Values values;
  for (std::int64_t row = 0; row < shape[0]; ++row)
    for (int k = 0; k < 64; ++k) values.push_back(0.1 + 0.7 * k);
  for (Backend* backend : tested_backends()) {
    SCOPED_TRACE(backend->name());
    const Tensor x = tensor(*backend, shape, values, DType::f32);
    const Tensor mean = Tensor::empty(c, x.options()), variance = Tensor::empty(c, x.options());
    backend->batch_statistics(mean, variance, x);
    for (const double v : variance.to_vector<double>()) EXPECT_TRUE(v >= 0.0 && v < 1e-9) << v;
  }
}

TEST(BatchNorm, Forward) {
  for (const Shape& shape : kBatchNormShapes)
    for (const bool affine : {false, true}) {
      SCOPED_TRACE(cat(shape));
      const Shape c{shape.back()};
      compare({blank(shape)},
              {random(shape, 1), random(c, 2), random(c, 3, 0.1, 1), affine ? random(c, 4) : Tensor(),
               affine ? random(c, 5) : Tensor()},
              [](Backend& b, Tensors out, Tensors in) {
                b.batch_norm(out[0], in[0], in[1], in[2], in[3], in[4], {});
              });
    }
}

TEST(BatchNorm, Backward) {
  for (const Shape& shape : kBatchNormShapes)
    for (const bool affine : {false, true}) {
      SCOPED_TRACE(cat(shape));
      const Shape c{shape.back()};
      compare({blank(shape), affine ? blank(c) : Tensor(), affine ? blank(c) : Tensor()},
              {random(shape, 1), random(shape, 2), random(c, 3, -0.1, 0.1), random(c, 4, 0.1, 1),
               affine ? random(c, 5) : Tensor()},
              [](Backend& b, Tensors out, Tensors in) {
                b.batch_norm_backward(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], {});
              });
    }
}

// Relus, which kernels make with the norm; functions of x; one of the result.
const UnaryStage kActivations[] = {{UnaryOp::relu},
                                   {UnaryOp::clipped_relu, {.alpha = 0.5}},
                                   {UnaryOp::leaky_relu, {.alpha = 0.2}},
                                   {UnaryOp::elu, {.alpha = 1.0}},
                                   {UnaryOp::gelu},
                                   {UnaryOp::silu},
                                   {UnaryOp::sigmoid}};

// A backend may round what is between the norm and the activation.
constexpr Tolerance kRoundedTwice{.bf16 = 0x1p-6};

// For each shape and activation, without and with gamma and beta.
template <class F>
void for_activations(const F& f) {
  for (const Shape& shape : kBatchNormShapes)
    for (const UnaryStage& activation : kActivations)
      for (const bool affine : {false, true}) {
        SCOPED_TRACE(cat(shape, " op ", static_cast<int>(activation.op), affine ? " affine" : ""));
        f(shape, activation, affine);
      }
}

TEST(BatchNorm, ForwardWithActivation) {
  for_activations([](const Shape& shape, const UnaryStage& activation, bool affine) {
    const Shape c{shape.back()};
    compare(
        {blank(shape)},
        {random(shape, 1), random(c, 2), random(c, 3, 0.1, 1), affine ? random(c, 4) : Tensor(),
         affine ? random(c, 5) : Tensor()},
        [&](Backend& b, Tensors out, Tensors in) {
          b.batch_norm_activation(out[0], in[0], in[1], in[2], in[3], in[4], {}, activation);
        },
        kRoundedTwice);
  });
}

// Also over the gradient that it is made of.
TEST(BatchNorm, BackwardWithActivation) {
  for_activations([](const Shape& shape, const UnaryStage& activation, bool affine) {
    const Shape c{shape.back()};
    for (const bool in_place : {false, true})
      compare(
          {blank(shape), affine ? blank(c) : Tensor(), affine ? blank(c) : Tensor()},
          {random(shape, 1), random(shape, 2), random(c, 3, -0.1, 0.1), random(c, 4, 0.1, 1),
           affine ? random(c, 5) : Tensor(), affine ? random(c, 6, 0, 1) : Tensor()},
          [&](Backend& b, Tensors out, Tensors in) {
            if (in_place) b.copy(out[0], in[0]);
            b.batch_norm_activation_backward(out[0], out[1], out[2], in_place ? out[0] : in[0], in[1], in[2],
                                             in[3], in[4], in[5], {}, activation);
          },
          kRoundedTwice);
  });
}

// For each shape, without and with gamma and beta.
template <class F>
void for_addends(const F& f) {
  for (const Shape& shape : kBatchNormShapes)
    for (const bool affine : {false, true}) {
      SCOPED_TRACE(cat(shape, affine ? " affine" : ""));
      f(shape, affine);
    }
}

TEST(BatchNorm, PlusAnAddend) {
  for (const UnaryStage& activation : {UnaryStage(), UnaryStage{UnaryOp::relu}})
    for_addends([&](const Shape& shape, bool affine) {
      const Shape c{shape.back()};
      compare(
          {blank(shape)},
          {random(shape, 1), random(c, 2), random(c, 3, 0.1, 1), affine ? random(c, 4) : Tensor(),
           affine ? random(c, 5) : Tensor(), random(shape, 9, -2, 2)},
          [&](Backend& b, Tensors out, Tensors in) {
            b.batch_norm_add(out[0], in[0], {in[1], in[2], in[3], in[4], {}, activation}, in[5]);
          },
          kRoundedTwice);
    });
}

Tensor behind_relu(const Tensor& x) {
  const Tensor y = Tensor::empty_like(x);
  oracle().unary(UnaryOp::relu, y, x, {});
  return y;
}

// Also with the addend's gradient over the one that it is made of.
TEST(BatchNorm, BackwardThroughAReluOfASum) {
  for_addends([](const Shape& shape, bool affine) {
    const Shape c{shape.back()};
    for (const bool in_place : {false, true})
      compare(
          {blank(shape), affine ? blank(c) : Tensor(), affine ? blank(c) : Tensor(), blank(shape)},
          {random(shape, 1), behind_relu(random(shape, 2)), random(shape, 3), random(c, 4, -0.1, 0.1),
           random(c, 5, 0.1, 1), affine ? random(c, 6) : Tensor()},
          [&](Backend& b, Tensors out, Tensors in) {
            if (in_place) b.copy(out[3], in[0]);
            b.batch_norm_add_relu_backward({out[0], out[1], out[2]}, out[3], in_place ? out[3] : in[0], in[1],
                                           in[2], {in[3], in[4], in[5]});
          },
          kRoundedTwice);
  });
}

// As in TensorFlow's relu6: what is at the limit is not below it.
TEST(BatchNorm, NoGradientPassesAReluAtItsLimit) {
  for (const std::int64_t channels : {3, 16, 300})
    for (Backend* backend : tested_backends()) {
      SCOPED_TRACE(cat(backend->name(), ' ', channels));
      const Shape shape{70, channels}, c{channels};
      const TensorOptions options{.backend = backend};
      const Tensor x = Tensor::full(shape, 3, options), grad_x = Tensor::empty_like(x);
      const Tensor mean = Tensor::full(c, 3, options), variance = Tensor::full(c, 1, options);
      const Tensor beta = Tensor::full(c, 1.5, options), grad_beta = Tensor::full(c, 7, options);
      backend->batch_norm_activation_backward(grad_x, {}, grad_beta, Tensor::full(shape, 1, options), x, mean,
                                              variance, {}, beta, {},
                                              {UnaryOp::clipped_relu, {.alpha = 1.5}});
      EXPECT_EQ(grad_beta.to_vector<float>(), Tensor::zeros(c, options).to_vector<float>());
      EXPECT_EQ(grad_x.to_vector<float>(), Tensor::zeros(shape, options).to_vector<float>());
    }
}

// The gradient's relu is made of x again: it has to be that of the forward pass to the last bit. So all
// results lie within a few bits of 0.
TEST(BatchNorm, AReluLetsTheSameElementsThroughInBothDirections) {
  constexpr std::int64_t kRows = 4099, kChannels = 19;
  constexpr double kPlace = 0.37;
  const Shape shape{kRows, kChannels}, c{kChannels};
  const Values noise = random_values(kRows * kChannels, 1);
  Values mean = random_values(kChannels, 2), gamma = random_values(kChannels, 3), beta(kChannels), x = noise;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = mean[i % kChannels] + kPlace + 2e-7 * noise[i];
  for (std::size_t k = 0; k < beta.size(); ++k) beta[k] = -kPlace * gamma[k] / std::sqrt(0.5 + 1e-3);
  for (Backend* backend : tested_backends()) {
    SCOPED_TRACE(backend->name());
    const auto floats = [&](const Shape& s, const Values& values) {
      return tensor(*backend, s, values, DType::f32);
    };
    const Tensor batch = floats(shape, x), means = floats(c, mean),
                 variances = floats(c, Values(kChannels, 0.5)), gammas = floats(c, gamma),
                 betas = floats(c, beta), ones = Tensor::full(shape, 1, batch.options());
    const Tensor y = Tensor::empty_like(batch), grad_x = Tensor::empty_like(batch);
    const Tensor passed = Tensor::empty_like(means);
    const UnaryStage relu{UnaryOp::relu};
    backend->batch_norm_activation(y, batch, means, variances, gammas, betas, {}, relu);
    backend->batch_norm_activation_backward(grad_x, {}, passed, ones, batch, means, variances, gammas, betas,
                                            {}, relu);
    Values count(kChannels);
    const Values results = y.to_vector<double>();
    for (std::size_t i = 0; i < results.size(); ++i) count[i % kChannels] += results[i] > 0;
    EXPECT_EQ(passed.to_vector<double>(), count);
    EXPECT_GT(*std::min_element(count.begin(), count.end()), 0.1 * kRows);
  }
}

}  // namespace
}  // namespace ronde::test
