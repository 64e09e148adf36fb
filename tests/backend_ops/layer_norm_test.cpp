#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct Case {
  std::int64_t rows, k;
};
// Rows shorter than a vector and not a multiple of one; more than are summed in float at a time; some as long
// as an image.
const Case kNormCases[] = {{0, 5},    {1, 1},   {5, 3},    {40, 8},  {67, 33},
                           {200, 96}, {9, 100}, {3, 2500}, {2, 6000}};

TEST(LayerNorm, Forward) {
  for (const auto& [rows, k] : kNormCases) {
    SCOPED_TRACE(cat(rows, " x ", k));
    const Shape shape{rows, k};
    compare({blank(shape), blank({rows}), blank({rows}), blank(shape), blank({rows}), blank({rows})},
            {random(shape, 1, 1, 4), random({k}, 2), random({k}, 3)},
            [](Backend& b, Tensors out, Tensors in) {
              b.layer_norm(out[0], out[1], out[2], in[0], in[1], in[2], 1e-3);
              b.layer_norm(out[3], out[4], out[5], in[0], {}, {}, 0.5);
            });
  }
}

TEST(LayerNorm, Backward) {
  for (const auto& [rows, k] : kNormCases) {
    SCOPED_TRACE(cat(rows, " x ", k));
    const Shape shape{rows, k};
    compare(
        {blank(shape), blank({k}), blank({k}), blank(shape), blank(shape), blank({k})},
        {random(shape, 1), random(shape, 2), random({rows}, 3), random({rows}, 4, 0.2, 1), random({k}, 5)},
        [](Backend& b, Tensors out, Tensors in) {
          b.layer_norm_backward(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], 1e-3);
          b.layer_norm_backward(out[3], {}, {}, in[0], in[1], in[2], in[3], {}, 1e-3);
          b.layer_norm_backward(out[4], out[5], {}, in[0], in[1], in[2], in[3], in[4], 0.1);
        });
  }
}

// Of a row that is all the same nothing is left but beta, however far it is from 0.
TEST(LayerNorm, OfEqualValues) {
  compare({blank({3, 40}), blank({3}), blank({3})},
          {Tensor::full({3, 40}, 4096.0, {.dtype = DType::f64, .backend = &oracle()}), random({40}, 1),
           random({40}, 2)},
          [](Backend& b, Tensors out, Tensors in) {
            b.layer_norm(out[0], out[1], out[2], in[0], in[1], in[2], 1e-6);
          });
}

// Activations in bf16; weights, their gradients and statistics in f32.
TEST(LayerNorm, MixedPrecision) {
  const Shape shape{70, 24};
  const Tensors values = rounded({random(shape, 1), random(shape, 2)});
  const Tensors weights{random({24}, 3), random({24}, 4)};
  const auto run = [&](Backend& b, DType wide, DType narrow) {
    const TensorOptions halves{.dtype = narrow, .backend = &b}, floats{.dtype = wide, .backend = &b};
    const Tensor y = Tensor::empty(shape, halves), grad_x = Tensor::empty(shape, halves);
    const Tensor mean = Tensor::empty({70}, floats), variance = Tensor::empty({70}, floats);
    const Tensor grad_gamma = Tensor::empty({24}, floats), grad_beta = Tensor::empty({24}, floats);
    const Tensors in = copies(values, b, narrow), w = copies(weights, b, wide);
    b.layer_norm(y, mean, variance, in[0], w[0], w[1], 1e-3);
    b.layer_norm_backward(grad_x, grad_gamma, grad_beta, in[1], in[0], mean, variance, w[0], 1e-3);
    return Tensors{y, grad_x, mean, variance, grad_gamma, grad_beta};
  };
  const Tensors expected = run(oracle(), DType::f64, DType::f64);
  for (Backend* backend : tested_backends()) {
    const Tensors actual = run(*backend, DType::f32, DType::bf16);
    for (std::size_t i = 0; i < actual.size(); ++i)
      expect_near_oracle(actual[i], expected[i], i < 2 ? Tolerance().bf16 : 5e-6);
  }
}

}  // namespace
}  // namespace ronde::test
