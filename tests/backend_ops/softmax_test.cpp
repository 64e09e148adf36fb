#include <cmath>
#include <limits>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

const Shape kSoftmaxShapes[] = {{0, 10}, {1, 1}, {5, 10}, {130, 10}, {3, 257}};

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
