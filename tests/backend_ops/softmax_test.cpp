#include <cmath>
#include <limits>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

const Shape kSoftmaxShapes[] = {{0, 10}, {1, 1}, {5, 10}, {130, 10}, {7, 16}, {5, 21}, {3, 257}, {2, 5003}};

TEST(Softmax, ForwardAndBackward) {
  for (const Shape& shape : kSoftmaxShapes) {
    SCOPED_TRACE(cat(shape));
    compare({blank(shape), blank(shape), blank(shape), blank(shape)},
            {random(shape, 1, -30, 30), random(shape, 2), random(shape, 3, 0, 1), random(shape, 4, -3, 0)},
            [&](Backend& b, Tensors out, Tensors in) {
              b.softmax(out[0], in[0]);
              b.softmax_backward(out[1], in[1], in[2]);
              b.log_softmax(out[2], in[0]);
              b.log_softmax_backward(out[3], in[1], in[3]);
            });
  }
}

TEST(Softmax, CrossEntropy) {
  for (const Shape& shape : kSoftmaxShapes)
    for (const double smoothing : {0.0, 0.1}) {
      SCOPED_TRACE(cat(shape));
      std::vector<std::int32_t> classes;
      for (std::int64_t i = 0; i < shape[0]; ++i)
        classes.push_back(static_cast<std::int32_t>(i * 7 % shape[1]));
      const Tensor labels = Tensor::from<std::int32_t>({shape[0]}, classes, &oracle());
      compare({blank({shape[0]}), blank(shape), blank(shape)},
              {random(shape, 1, -30, 30), labels, random({shape[0]}, 2), random(shape, 3, 0, 1)},
              [&](Backend& b, Tensors out, Tensors in) {
                b.softmax_cross_entropy(out[0], out[1], in[0], in[1], smoothing);
                b.softmax_cross_entropy_backward(out[2], in[2], in[3], in[1], smoothing);
              });
    }
}

// A class that is masked by a logit of -inf: without smoothing its target is 0, and so is its share of the
// loss.
TEST(Softmax, CrossEntropyOfAMaskedClass) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto check = [](Backend& b, DType dtype) {
    const TensorOptions options{.dtype = dtype == DType::bf16 ? DType::f32 : dtype, .backend = &b};
    const Tensor logits = Tensor::from<double>({2, 3}, {1, 2, -kInf, -kInf, 2, -kInf}, &b).to(dtype);
    const Tensor losses = Tensor::empty({2}, options), p = Tensor::empty({2, 3}, options);
    b.softmax_cross_entropy(losses, p, logits, Tensor::from<std::int32_t>({2}, {0, 1}, &b), 0.0);
    const std::vector<double> found = losses.to_vector<double>();
    EXPECT_NEAR(found[0], std::log(1 + std::exp(1.0)), 1e-6);
    EXPECT_EQ(found[1], 0.0);
    EXPECT_EQ(p.to_vector<double>()[2], 0.0);
  };
  for_each_setting(check, {DType::f32, DType::f64, DType::bf16});
}

// Of many classes, too, whose sums are made of floats: what is left of a loss that is nearly 0 keeps its
// digits, and so do logits far from 0.
TEST(Softmax, OfAClassThatIsNearlyCertain) {
  const auto check = [](Backend& b, DType dtype) {
    std::vector<double> values(1000, -20.0);
    values[17] = 0.0;
    const double rest = 999 * std::exp(-20.0);
    for (const double shift : {0.0, 4096.0, -4096.0}) {
      std::vector<double> shifted = values;
      for (double& value : shifted) value += shift;
      const Tensor logits = Tensor::from<double>({1, 1000}, shifted, &b).to(dtype);
      const TensorOptions options{.dtype = dtype, .backend = &b};
      const Tensor losses = Tensor::empty({1}, options), p = Tensor::empty({1, 1000}, options),
                   logs = Tensor::empty({1, 1000}, options);
      b.softmax_cross_entropy(losses, p, logits, Tensor::from<std::int32_t>({1}, {17}, &b), 0.0);
      b.log_softmax(logs, logits);
      EXPECT_NEAR(losses.to_vector<double>()[0] / std::log1p(rest), 1.0, 2e-1) << shift;
      EXPECT_NEAR(logs.to_vector<double>()[17] / -std::log1p(rest), 1.0, 2e-1) << shift;
      EXPECT_NEAR(p.to_vector<double>()[0] / std::exp(-20.0), 1.0, 1e-5) << shift;
    }
  };
  for_each_setting(check, {DType::f32, DType::f64});
}

TEST(Softmax, OfValuesThatAreNotFinite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto check = [](Backend& b, DType dtype) {
    const auto softmax_of = [&](std::int64_t k, std::int64_t place, double value) {
      std::vector<double> values(static_cast<std::size_t>(k), 0.0);
      values[static_cast<std::size_t>(place)] = value;
      const Tensor x = Tensor::from<double>({1, k}, values, &b).to(dtype), y = Tensor::empty_like(x);
      b.softmax(y, x);
      return y.to_vector<double>();
    };
    for (const std::int64_t k : {10, 40, 1500})
      for (const std::int64_t place : {std::int64_t{0}, std::int64_t{3}, k - 1}) {
        const auto at = static_cast<std::size_t>(place), other = at == 0 ? at + 1 : at - 1;
        EXPECT_EQ(softmax_of(k, place, -kInf)[at], 0.0) << k;
        EXPECT_NEAR(softmax_of(k, place, -kInf)[other], 1.0 / static_cast<double>(k - 1),
                    1e-2 / static_cast<double>(k))
            << k;
        for (const double wrong : {kInf, std::nan("")})
          for (const double value : softmax_of(k, place, wrong)) EXPECT_TRUE(std::isnan(value)) << k;
      }
  };
  for_each_setting(check, {DType::f32, DType::f64, DType::bf16});
}

// As a mean of losses gives it to all of them.
TEST(Softmax, OneGradientOfAllLosses) {
  const Tensor labels = Tensor::full({40}, 3, {.dtype = DType::i32, .backend = &oracle()});
  compare({blank({40, 10})}, {random({}, 1), random({40, 10}, 2, 0, 1), labels},
          [](Backend& b, Tensors out, Tensors in) {
            b.softmax_cross_entropy_backward(out[0], in[0].broadcast_to({40}), in[1], in[2], 0.1);
          });
}

}  // namespace
}  // namespace ronde::test
