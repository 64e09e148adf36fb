#include <cmath>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct ConvNormCase {
  Shape x, weight;  // NHWC, OHWI
  Conv2dParams params = {};
};

Shape out_shape(const ConvNormCase& c) {
  const auto size = [](std::int64_t in, std::int64_t padding, std::int64_t kernel, std::int64_t dilation,
                       std::int64_t stride) {
    return (in + padding - (kernel - 1) * dilation - 1) / stride + 1;
  };
  const Conv2dParams& p = c.params;
  return {c.x[0], size(c.x[1], p.padding.top + p.padding.bottom, c.weight[1], p.dilation.h, p.stride.h),
          size(c.x[2], p.padding.left + p.padding.right, c.weight[2], p.dilation.w, p.stride.w), c.weight[0]};
}

const Padding2d kAround{1, 1, 1, 1};

// What the fast backend makes by each of its ways, images whole and shared by threads.
const ConvNormCase kConvNormCases[] = {
    {{5, 40, 40, 3}, {32, 3, 3, 3}, {.stride = {2, 2}, .padding = {0, 1, 0, 1}}},  // direct, in a frame
    {{3, 65, 70, 16}, {24, 1, 1, 16}},                                             // direct, in bands
    {{4, 19, 17, 16}, {16, 3, 3, 16}, {.padding = kAround}},                       // Winograd
    {{3, 60, 66, 32}, {32, 3, 3, 32}, {.padding = kAround}},                       // blocks within an image
    {{1, 40, 40, 16}, {32, 3, 3, 16}, {.padding = kAround}},                       // shared tiles
    {{2, 7, 7, 96}, {96, 3, 3, 96}, {.padding = kAround}},                         // shared channels
    {{3, 20, 20, 256}, {320, 1, 1, 256}},                                          // products by rows
    {{2, 7, 7, 256}, {320, 1, 1, 256}},                                            // and by columns
    {{3, 9, 9, 128}, {128, 3, 3, 128}, {.stride = {2, 2}, .padding = kAround}},    // patches
    {{3, 45, 40, 19}, {19, 3, 3, 1}, {.padding = kAround, .groups = 19}},          // depthwise
    {{2, 9, 9, 16}, {32, 5, 5, 1}, {.stride = {2, 2}, .groups = 16}},              // two filters a channel
    {{3, 9, 9, 32}, {32, 3, 3, 8}, {.padding = kAround, .groups = 4}},             // oneDNN
    {{2, 5, 5, 3}, {4, 3, 3, 3}},                                                  // the oracle
    {{0, 5, 5, 16}, {16, 3, 3, 16}},
};

TEST(Conv2dNorm, GivesWhatBothGive) {
  for (const ConvNormCase& c : kConvNormCases)
    for (const UnaryStage& activation : {UnaryStage{}, UnaryStage{UnaryOp::clipped_relu, {.alpha = 0.5}},
                                         UnaryStage{UnaryOp::silu}, UnaryStage{UnaryOp::softplus}}) {
      SCOPED_TRACE(cat(c.x, " ", c.weight, " op ", static_cast<int>(activation.op)));
      const Shape channels{c.weight[0]};
      const bool has_relu = activation.op == UnaryOp::clipped_relu;
      const double size = 1 / std::sqrt(static_cast<double>(c.weight.count() / c.weight[0]));
      compare({blank(out_shape(c))},
              {random(c.x, 1), random(c.weight, 2, -size, size), has_relu ? random(channels, 3) : Tensor(),
               random(channels, 4), random(channels, 5, 0.5, 1), has_relu ? Tensor() : random(channels, 6),
               has_relu ? Tensor() : random(channels, 7)},
              [&](Backend& b, Tensors out, Tensors in) {
                b.conv2d_norm(out[0], in[0], {in[1], in[2], c.params, Epilogue::none},
                              {in[3], in[4], in[5], in[6], {}, activation});
              },
              {.f32 = 3e-5, .bf16 = 0x1p-5});
    }
}

// In float and in bf16 too: what is one call may be two in another net or batch.
TEST(Conv2dNorm, GivesTheBitsOfBoth) {
  for (const ConvNormCase& c : kConvNormCases)
    for (const UnaryOp op : {UnaryOp::relu, UnaryOp::silu})
      for_each_setting(
          [&](Backend& backend, DType dtype) {
            SCOPED_TRACE(cat(c.x, " ", c.weight, " op ", static_cast<int>(op)));
            const auto here = [&](const Tensor& t, DType of = DType::f32) { return t.to(of).to(backend); };
            const Shape channels{c.weight[0]};
            const Tensor x = here(random(c.x, 1), dtype), weight = here(random(c.weight, 2), dtype),
                         mean = here(random(channels, 4)), variance = here(random(channels, 5, 0.5, 1));
            const Tensor one = Tensor::empty(out_shape(c), x.options()), two = Tensor::empty_like(one);
            backend.conv2d_norm(one, x, {weight, {}, c.params, Epilogue::none},
                                {mean, variance, {}, {}, {}, {op}});
            backend.conv2d(two, x, weight, {}, c.params, Epilogue::none);
            backend.batch_norm_activation(two, two, mean, variance, {}, {}, {}, {op});
            EXPECT_EQ(one.to(DType::f32).to_vector<float>(), two.to(DType::f32).to_vector<float>());
          },
          {DType::f32, DType::bf16});
}

}  // namespace
}  // namespace ronde::test
