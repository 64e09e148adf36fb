// Kernels of mixed precision: bf16 beside f32, as Backend allows it. The oracle gets the same numbers in f64.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

// Of the largest magnitude: f32 results are sums of exact products, far nearer than a bf16 could be.
constexpr double kRounded = 0x1.02p-8, kSummed = 0x1p-14;

/// Tensors of a kernel and how many of them, from the end, are f32; the others are bf16.
struct Operands {
  Tensors tensors;
  std::size_t single = 0;
};

Tensors stored(const Operands& operands, Backend& backend) {
  const std::size_t rounded = operands.tensors.size() - operands.single;
  Tensors result =
      copies({operands.tensors.begin(), operands.tensors.begin() + static_cast<std::ptrdiff_t>(rounded)},
             backend, DType::bf16);
  for (const Tensor& t :
       copies({operands.tensors.begin() + static_cast<std::ptrdiff_t>(rounded), operands.tensors.end()},
              backend, DType::f32))
    result.push_back(t);
  return result;
}

Tensors exact(const Tensors& tensors) {
  Tensors result;
  for (const Tensor& t : tensors) {
    const Tensor there = t.defined() ? t.to(oracle()) : Tensor();
    result.push_back(there.defined() && is_floating(there.dtype()) ? there.to(DType::f64) : there);
  }
  return result;
}

void compare_mixed(const Operands& outputs, const Operands& inputs, const Kernel& kernel,
                   double rounded = kRounded, double summed = kSummed) {
  for_each_setting(
      [&](Backend& backend, DType) {
        const Tensors actual = stored(outputs, backend), given = stored(inputs, backend);
        const Tensors expected = exact(actual), known = exact(given);
        kernel(oracle(), expected, known);
        kernel(backend, actual, given);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          SCOPED_TRACE(cat("output ", i));
          if (actual[i].defined())
            expect_near_oracle(actual[i], expected[i], actual[i].dtype() == DType::bf16 ? rounded : summed);
        }
      },
      {DType::bf16});
}

// Of all magnitudes, denormal, infinite and NaN among them, and mantissas around those of a bf16.
std::vector<float> all_kinds_of_floats() {
  std::vector<float> values;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent)
    for (const std::uint32_t mantissa : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0x18000u, 0x3f1234u, 0x7fffffu})
      for (const std::uint32_t sign : {0u, 1u})
        values.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
  values.push_back(1.0f / 3.0f);  // no whole number of vectors
  return values;
}

TEST(MixedKernels, AllFloatsAreRoundedToTheNearest) {
  const std::vector<float> values = all_kinds_of_floats();
  for_each_setting(
      [&](Backend& backend, DType) {
        const auto rounded = Tensor::from({static_cast<std::int64_t>(values.size())}, values)
                                 .to(backend)
                                 .to(DType::bf16)
                                 .to(oracle())
                                 .to_vector<bfloat16>();
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto expected = static_cast<float>(bfloat16(values[i])),
                     actual = static_cast<float>(rounded[i]);
          const bool is_denormal = std::fabs(values[i]) < std::numeric_limits<float>::min();
          if (is_denormal && actual == 0) continue;  // loops may take them for 0
          if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(actual)) << i;
          else
            EXPECT_EQ(actual, expected) << values[i];
        }
      },
      {DType::bf16});
}

TEST(MixedKernels, Products) {
  for (const auto& [m, k, n] : {std::array{5, 7, 3},
                                {64, 128, 10},
                                {128, 257, 64},
                                {300, 1100, 270},
                                {17, 70, 42},
                                {3, 0, 2},
                                {1, 1, 1}})
    for (const bool first : {false, true})
      for (const bool second : {false, true}) {
        SCOPED_TRACE(cat(m, " x ", k, " x ", n, first ? ", first transposed" : "", second ? ", second" : ""));
        const Shape a = first ? Shape{k, m} : Shape{m, k}, b = second ? Shape{n, k} : Shape{k, n};
        compare_mixed({{blank({m, n})}, 1}, {{random(a, 1), random(b, 2)}},
                      [&, first = first, second = second](Backend& backend, Tensors out, Tensors in) {
                        backend.matmul(out[0], in[0], in[1], {first, second});
                      });
      }
}

TEST(MixedKernels, DenseWithAPreciseBias) {
  for (const auto& [n, in_features, units] : {std::array{5, 7, 3}, {32, 128, 10}, {128, 200, 64}, {4, 0, 6}})
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
      SCOPED_TRACE(cat(n, " x ", in_features, " x ", units));
      compare_mixed(
          {{blank({n, units})}},
          {{random({n, in_features}, 1), random({in_features, units}, 2), random({units}, 3)}, 1},
          [&](Backend& b, Tensors out, Tensors in) { b.dense(out[0], in[0], in[1], in[2], epilogue); });
    }
}

struct MixedConvCase {
  Shape x, weight, out;
  Conv2dParams params = {};
};

const MixedConvCase kMixedConvCases[] = {
    {{3, 8, 8, 1}, {32, 3, 3, 1}, {3, 6, 6, 32}},
    {{2, 9, 7, 3}, {16, 3, 3, 3}, {2, 9, 7, 16}, {.padding = {1, 1, 1, 1}}},
    {{4, 10, 10, 32}, {64, 3, 3, 32}, {4, 8, 8, 64}},
    {{2, 8, 8, 16}, {32, 3, 3, 16}, {2, 4, 4, 32}, {.stride = {2, 2}, .padding = {0, 1, 0, 1}}},
    {{2, 8, 8, 16}, {32, 1, 1, 16}, {2, 4, 4, 32}, {.stride = {2, 2}}},
    // 1x1: channels that fill no tile, more rows and columns than go through a cache together, pixels that a
    // stride leaves out behind the last one.
    {{3, 5, 7, 24}, {40, 1, 1, 24}, {3, 5, 7, 40}},
    {{2, 15, 13, 72}, {300, 1, 1, 72}, {2, 15, 13, 300}},
    {{3, 9, 12, 19}, {35, 1, 1, 19}, {3, 3, 6, 35}, {.stride = {4, 2}}},
    // Strides: few channels, one wider than the filter, channels and filters that fill no tile, more images
    // than go through a cache together.
    {{3, 11, 12, 3}, {24, 5, 5, 3}, {3, 6, 6, 24}, {.stride = {2, 2}, .padding = {2, 2, 2, 1}}},
    {{2, 9, 13, 20}, {19, 2, 3, 20}, {2, 3, 3, 19}, {.stride = {3, 5}}},
    {{2, 7, 5, 33}, {48, 3, 3, 33}, {2, 4, 5, 48}, {.stride = {2, 1}, .padding = {1, 1, 1, 1}}},
    {{21, 32, 33, 24}, {16, 3, 3, 24}, {21, 16, 16, 16}, {.stride = {2, 2}, .padding = {0, 1, 0, 0}}},
    // Few pixels beside many filters.
    {{3, 4, 5, 48}, {176, 3, 3, 48}, {3, 4, 5, 176}, {.padding = {1, 1, 1, 1}}},
    {{2, 6, 6, 8}, {8, 3, 3, 4}, {2, 4, 4, 8}, {.groups = 2}},
};

TEST(MixedKernels, ConvolutionsWithAPreciseBias) {
  for (const MixedConvCase& c : kMixedConvCases)
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
      SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight));
      compare_mixed({{blank(c.out)}}, {{random(c.x, 1), random(c.weight, 2), random({c.weight[0]}, 3)}, 1},
                    [&](Backend& b, Tensors out, Tensors in) {
                      b.conv2d(out[0], in[0], in[1], in[2], c.params, epilogue);
                    });
    }
}

TEST(MixedKernels, PreciseGradientsOfWeights) {
  for (const MixedConvCase& c : kMixedConvCases) {
    SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight));
    compare_mixed({{blank(c.weight), blank({c.weight[0]})}, 2}, {{random(c.out, 1), random(c.x, 2)}},
                  [&](Backend& b, Tensors out, Tensors in) {
                    b.conv2d_backward_weight(out[0], out[1], in[0], in[1], c.params);
                  });
  }
}

TEST(MixedKernels, GradientsOfImages) {
  for (const MixedConvCase& c : kMixedConvCases) {
    SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight));
    compare_mixed({{blank(c.x)}}, {{random(c.out, 1), random(c.weight, 2)}},
                  [&](Backend& b, Tensors out, Tensors in) {
                    b.conv2d_backward_input(out[0], in[0], in[1], c.params);
                  });
  }
}

TEST(MixedKernels, PreciseGradientsOfDenseWeights) {
  for (const auto& [n, inputs, units] : {std::array{5, 7, 3}, {128, 200, 64}, {300, 16, 10}, {0, 4, 6}}) {
    SCOPED_TRACE(cat(n, " x ", inputs, " x ", units));
    compare_mixed(
        {{blank({inputs, units}), blank({units})}, 2}, {{random({n, units}, 1), random({n, inputs}, 2)}},
        [](Backend& b, Tensors out, Tensors in) { b.dense_backward_weight(out[0], out[1], in[0], in[1]); });
  }
}

TEST(MixedKernels, PreciseGradientsOfABiasBeforeRelu) {
  for (const Shape& shape : {Shape{1, 5}, {300, 7}, {2, 9, 9, 64}, {0, 3}}) {
    SCOPED_TRACE(cat(shape));
    compare_mixed(
        {{blank(shape), blank({shape.back()})}, 1}, {{random(shape, 1), random(shape, 2)}},
        [](Backend& b, Tensors out, Tensors in) { b.relu_backward(out[0], out[1], in[0], in[1], 1.25); });
  }
}

TEST(MixedKernels, GradientsBehindReluAndDropoutAreScaled) {
  const auto check = [](Backend& backend, DType dtype) {
    const TensorOptions there{.dtype = dtype, .backend = &backend};
    const Tensor y = Tensor::from<float>({4}, {0, 1, -2, 3}).to(backend).to(dtype),
                 grad = Tensor::from<float>({4}, {4, 8, 16, -32}).to(backend).to(dtype);
    for (const double scale : {1.0, 1.25}) {
      const Tensor grad_x = Tensor::empty({4}, there);
      backend.relu_backward(grad_x, {}, grad, y, scale);
      const auto scaled = [=](double g) { return static_cast<float>(scale * g); };
      EXPECT_EQ(grad_x.to(DType::f32).to_vector<float>(), (std::vector<float>{0, scaled(8), 0, scaled(-32)}));
    }
  };
  for_each_setting(check, {DType::f32, DType::bf16});
}

TEST(MixedKernels, Softmax) {
  for (const Shape& shape : {Shape{33, 10}, {9, 40}})
    compare_mixed(
        {{blank(shape), blank(shape), blank(shape), blank(shape)}},
        {{random(shape, 1, -30, 30), random(shape, 2), random(shape, 3, 0, 1), random(shape, 4, -3, 0)}},
        [&](Backend& b, Tensors out, Tensors in) {
          b.softmax(out[0], in[0]);
          b.softmax_backward(out[1], in[1], in[2]);
          b.log_softmax(out[2], in[0]);
          b.log_softmax_backward(out[3], in[1], in[3]);
        });
}

TEST(MixedKernels, PreciseLosses) {
  for (const Shape& shape : {Shape{33, 10}, {9, 40}}) {
    const Tensor labels = Tensor::full({shape[0]}, 3, {.dtype = DType::i32, .backend = &oracle()});
    compare_mixed({{blank({shape[0]}), blank(shape)}, 2}, {{random(shape, 1, -30, 30)}},
                  [&](Backend& b, Tensors out, Tensors in) {
                    b.softmax_cross_entropy(out[0], out[1], in[0], labels.to(b), 0.1);
                  });
    compare_mixed({{blank(shape)}}, {{random({}, 2), random(shape, 3, 0, 1)}, 2},
                  [&](Backend& b, Tensors out, Tensors in) {
                    b.softmax_cross_entropy_backward(out[0], in[0].broadcast_to({shape[0]}), in[1],
                                                     labels.to(b), 0.1);
                  });
  }
}

TEST(MixedKernels, PreciseSumsOverRows) {
  for (const Shape& shape : {Shape{1, 5}, {300, 7}, {1000, 64}, {0, 3}}) {
    SCOPED_TRACE(cat(shape));
    compare_mixed({{blank({1, shape[1]})}, 1}, {{random(shape, 1)}},
                  [](Backend& b, Tensors out, Tensors in) { b.reduce(ReduceOp::sum, out[0], in[0]); });
  }
}

TEST(MixedKernels, BatchNormWithPreciseStatistics) {
  for (const Shape& shape : {Shape{6, 1}, {300, 7}, {2, 5, 5, 16}, {5000, 16}, {150, 600}, {0, 4}}) {
    SCOPED_TRACE(cat(shape));
    const Shape channels{shape[shape.rank() - 1]};
    const Tensor x = random(shape, 1), mean = random(channels, 2), variance = random(channels, 3, 0.5, 2),
                 gamma = random(channels, 4, 0.5, 2), beta = random(channels, 5);
    compare_mixed({{blank(channels), blank(channels)}, 2}, {{x}},
                  [](Backend& b, Tensors out, Tensors in) { b.batch_statistics(out[0], out[1], in[0]); });
    compare_mixed({{blank(shape)}}, {{x, mean, variance, gamma, beta}, 4},
                  [](Backend& b, Tensors out, Tensors in) {
                    b.batch_norm(out[0], in[0], in[1], in[2], in[3], in[4], {});
                  });
    compare_mixed({{blank(shape)}}, {{x, mean, variance, gamma, beta}, 4},
                  [](Backend& b, Tensors out, Tensors in) {
                    b.batch_norm_activation(out[0], in[0], in[1], in[2], in[3], in[4], {}, {UnaryOp::relu});
                  });
    compare_mixed(
        {{blank(shape)}}, {{x, mean, variance, gamma, beta}, 4},
        [](Backend& b, Tensors out, Tensors in) {
          b.batch_norm_activation(out[0], in[0], in[1], in[2], in[3], in[4], {}, {UnaryOp::silu});
        },
        4 * kRounded);  // what is between norm and activation may be rounded
    compare_mixed({{blank(shape), blank(channels), blank(channels)}, 2},
                  {{random(shape, 6), x, mean, variance, gamma}, 3}, [](Backend& b, Tensors out, Tensors in) {
                    b.batch_norm_backward(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], {});
                  });
    compare_mixed(
        {{blank(shape), blank(channels), blank(channels)}, 2},
        {{random(shape, 6), x, mean, variance, gamma, beta}, 4},
        [](Backend& b, Tensors out, Tensors in) {
          b.batch_norm_activation_backward(out[0], out[1], out[2], in[0], in[1], in[2], in[3], in[4], in[5],
                                           {}, {UnaryOp::silu});
        },
        4 * kRounded, kRounded);
  }
}

// Mixtures that no layer makes are taken too: by float copies where a kernel does not know them.
TEST(MixedKernels, OtherMixtures) {
  const Shape shape{5, 707};
  const Tensor a = random(shape, 1), b = random(shape, 2);
  const auto multiply = [](Backend& backend, Tensors out, Tensors in) {
    backend.binary(BinaryOp::multiply, out[0], in[0], in[1]);
  };
  compare_mixed({{blank(shape)}}, {{a, b}, 1}, multiply);
  compare_mixed({{blank(shape)}, 1}, {{a, b}, 1}, multiply);
  compare_mixed({{random(shape, 3)}, 1}, {{a}},
                [](Backend& backend, Tensors out, Tensors in) { backend.accumulate(out[0], in[0], 0.5); });
  compare_mixed({{random(shape, 3)}}, {{a}, 1},
                [](Backend& backend, Tensors out, Tensors in) { backend.accumulate(out[0], in[0], 0.5); });
}

}  // namespace
}  // namespace ronde::test
