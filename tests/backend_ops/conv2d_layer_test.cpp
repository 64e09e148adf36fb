// A convolution with relu and max-pooling in one kernel, and all its gradients in another.
#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct LayerCase {
  Shape x, weight, conv, out;  // images, filters OHWI, the convolution's result, the pooled one
  Conv2dParams params = {};
  Pool2dParams pool = {};
};

const LayerCase kCases[] = {
    // The nets' kinds: Winograd's algorithm, with rows and columns that pooling leaves out.
    {{5, 10, 10, 32}, {64, 3, 3, 32}, {5, 8, 8, 64}, {5, 4, 4, 64}},
    {{7, 9, 9, 16}, {32, 3, 3, 16}, {7, 7, 7, 32}, {7, 3, 3, 32}},
    // A first layer's, padded: direct kernels.
    {{3, 7, 6, 3}, {32, 3, 3, 3}, {3, 7, 6, 32}, {3, 3, 3, 32}, {.padding = {1, 1, 1, 1}}},
    // oneDNN's: groups; and odd channels.
    {{2, 6, 6, 32}, {32, 3, 3, 16}, {2, 4, 4, 32}, {2, 2, 2, 32}, {.groups = 2}},
    {{2, 6, 7, 5}, {7, 3, 2, 5}, {2, 4, 6, 7}, {2, 2, 3, 7}},
    // Windows that overlap, that are padded, and that leave gaps; strides.
    {{2, 9, 9, 16}, {16, 3, 3, 16}, {2, 7, 7, 16}, {2, 3, 3, 16}, {}, {{3, 3}, {2, 2}}},
    {{2, 8, 8, 16}, {16, 3, 3, 16}, {2, 6, 6, 16}, {2, 4, 4, 16}, {}, {{2, 2}, {2, 2}, {1, 1, 1, 1}}},
    {{2, 12, 9, 4}, {16, 3, 3, 4}, {2, 5, 4, 16}, {2, 2, 1, 16}, {.stride = {2, 2}}, {{1, 2}, {3, 3}}},
    // More images than a thread has in its scratch; none.
    {{19, 26, 26, 16}, {16, 3, 3, 16}, {19, 24, 24, 16}, {19, 12, 12, 16}},
    {{0, 8, 8, 16}, {16, 3, 3, 16}, {0, 6, 6, 16}, {0, 3, 3, 16}},
};

constexpr Tolerance kWinograd{.f32 = 1e-5};

Tensor pooled(Backend& b, const LayerCase& c, const Tensor& x, const Tensor& weight, const Tensor& argmax) {
  const Tensor out = unwritten(b, c.out, x.dtype());
  b.conv2d_max_pool2d(out, argmax, x, weight, {}, c.params, Epilogue::relu, c.pool);
  return out;
}

TEST(Conv2dLayer, MaxPoolingOfTheResult) {
  for (const LayerCase& c : kCases)
    for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
      SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight));
      compare(
          {blank(c.out)}, {random(c.x, 1), random(c.weight, 2), random({c.weight[0]}, 3)},
          [&](Backend& b, Tensors out, Tensors in) {
            const Tensor argmax = Tensor::empty(c.out, {.dtype = DType::u8, .backend = &b});
            b.conv2d_max_pool2d(out[0], argmax, in[0], in[1], in[2], c.params, epilogue, c.pool);
          },
          kWinograd);
    }
}

// Against the separate kernels of the oracle. The result and the places of the maxima are the oracle's too:
// where two values are nearly equal, rounding decides.
TEST(Conv2dLayer, Gradients) {
  for (const LayerCase& c : kCases)
    for (const bool with_relu : {false, true})
      for (const bool with_pool : {false, true}) {
        SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight, " relu ", with_relu, " pool ", with_pool));
        const Tensor x = random(c.x, 1), weight = random(c.weight, 2);
        const Shape& shape = with_pool ? c.out : c.conv;
        const Tensor argmax = Tensor::zeros(c.out, {.dtype = DType::u8, .backend = &oracle()});
        const Tensor y = with_pool ? pooled(oracle(), c, x, weight, argmax) : random(shape, 5);
        compare(
            {blank(c.x), blank(c.weight), blank({c.weight[0]})},
            {random(shape, 4), x, weight, with_relu ? y : Tensor(), with_pool ? argmax : Tensor()},
            [&](Backend& b, Tensors out, Tensors in) {
              b.conv2d_backward({.grad_x = out[0],
                                 .grad_weight = out[1],
                                 .grad_bias = out[2],
                                 .grad_out = in[0],
                                 .x = in[1],
                                 .weight = in[2],
                                 .out = in[3],
                                 .argmax = in[4],
                                 .conv_out = {c.conv[1], c.conv[2]},
                                 .params = c.params,
                                 .pool = c.pool});
            },
            kWinograd);
      }
}

// What is not wanted is not there, nor what only it would need.
TEST(Conv2dLayer, EachGradientAlone) {
  for (const LayerCase& c : kCases) {
    SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight));
    const Tensor x = random(c.x, 1), weight = random(c.weight, 2), grad = random(c.conv, 3);
    const Size2d conv_out{c.conv[1], c.conv[2]};
    const auto run = [&](const Tensor& result, const Tensor& other, auto set) {
      compare(
          {result}, {grad, other},
          [&](Backend& b, Tensors out, Tensors in) {
            Conv2dBackward layer{.grad_out = in[0], .conv_out = conv_out, .params = c.params};
            set(layer, out[0], in[1]);
            b.conv2d_backward(layer);
          },
          kWinograd);
    };
    run(blank(c.x), weight, [](auto& layer, auto& out, auto& in) { layer.grad_x = out, layer.weight = in; });
    run(blank(c.weight), x, [](auto& layer, auto& out, auto& in) { layer.grad_weight = out, layer.x = in; });
    run(blank({c.weight[0]}), {}, [](auto& layer, auto& out, auto&) { layer.grad_bias = out; });
  }
}

}  // namespace
}  // namespace ronde::test
