// A convolution with relu and max-pooling in one kernel, and all its gradients in another.
#include <ronde/core/ops.h>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct LayerCase {
  Shape x, weight, conv, out;  // images, filters OHWI, the convolution's result, the pooled one
  Conv2dParams params = {};
  Pool2dParams pool = {};
};

const LayerCase kLayerCases[] = {
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
    // Rows and columns that no window reaches, at one edge or more, with one tile and with several.
    {{5, 15, 15, 64}, {64, 3, 3, 64}, {5, 13, 13, 64}, {5, 6, 6, 64}},
    {{3, 15, 12, 24}, {40, 3, 3, 24}, {3, 13, 12, 40}, {3, 6, 6, 40}, {.padding = {0, 0, 1, 1}}},
    {{2, 15, 15, 16}, {16, 3, 3, 16}, {2, 13, 13, 16}, {2, 4, 4, 16}, {}, {{2, 2}, {3, 3}}},
    {{2, 12, 17, 16},
     {16, 3, 3, 16},
     {2, 12, 17, 16},
     {2, 3, 4, 16},
     {.padding = {1, 1, 1, 1}},
     {{1, 2}, {4, 4}}},
    // Tiles that reach beyond the result, with channels that are no whole vectors.
    {{3, 8, 10, 24}, {40, 3, 3, 24}, {3, 6, 8, 40}, {3, 3, 4, 40}},
    // Fewer images than threads.
    {{1, 8, 10, 64}, {96, 3, 3, 64}, {1, 8, 10, 96}, {1, 4, 5, 96}, {.padding = {1, 1, 1, 1}}},
    {{2, 17, 16, 12}, {24, 3, 5, 12}, {2, 15, 12, 24}, {2, 7, 6, 24}},
    // Small images that fill tiles together, the last of them with fewer others.
    {{5, 12, 12, 32}, {64, 3, 3, 32}, {5, 10, 10, 64}, {5, 5, 5, 64}},
    {{3, 5, 5, 16}, {512, 2, 2, 16}, {3, 4, 4, 512}, {3, 2, 2, 512}},
    // More images than a thread has in its scratch; none.
    {{19, 26, 26, 16}, {16, 3, 3, 16}, {19, 24, 24, 16}, {19, 12, 12, 16}},
    {{0, 8, 8, 16}, {16, 3, 3, 16}, {0, 6, 6, 16}, {0, 3, 3, 16}},
};

constexpr Tolerance kWinograd{.f32 = 1e-5, .bf16 = 0x1p-6};  // in bf16 each part is rounded

Tensor pooled(Backend& b, const LayerCase& c, const Tensor& x, const Tensor& weight, const Tensor& argmax) {
  const Tensor out = unwritten(b, c.out, x.dtype());
  b.conv2d_max_pool2d(out, argmax, x, weight, {}, c.params, Epilogue::relu, c.pool);
  return out;
}

TEST(Conv2dLayer, MaxPoolingOfTheResult) {
  for (const LayerCase& c : kLayerCases)
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

std::string bits(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), t.byte_size()};
}

// Tiles pool what they hold before anyone sees it: the maxima and their places are those of the whole result.
// With 4x4 and 6x6 pixels, some beyond the result, channels that are no whole vectors, and a NaN.
TEST(Conv2dLayer, MaximaAreThoseOfTheWholeResult) {
  const LayerCase cases[] = {
      {{5, 10, 10, 32}, {64, 3, 3, 32}, {5, 8, 8, 64}, {5, 4, 4, 64}},
      {{3, 8, 10, 24}, {40, 3, 3, 24}, {3, 6, 8, 40}, {3, 3, 4, 40}},
      {{3, 10, 8, 24}, {40, 3, 3, 24}, {3, 8, 6, 40}, {3, 4, 3, 40}},
      {{2, 12, 14, 16}, {24, 3, 3, 16}, {2, 10, 12, 24}, {2, 5, 6, 24}},
      {{2, 14, 12, 16}, {24, 3, 3, 16}, {2, 12, 10, 24}, {2, 6, 5, 24}},
      {{2, 26, 26, 16}, {16, 3, 3, 16}, {2, 24, 24, 16}, {2, 12, 12, 16}},
  };
  for_each_setting(
      [&](Backend& b, DType dtype) {
        if (b.name() != "onednn") return;  // others may compute a convolution that is pooled in another order
        for (const LayerCase& c : cases)
          for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu}) {
            SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight));
            const Tensors in =
                copies({random(c.x, 1), random(c.weight, 2), random({c.weight[0]}, 3)}, b, dtype);
            in[0].data<float>()[7] = std::nanf("");
            const auto places = [&] { return Tensor::empty(c.out, {.dtype = DType::u8, .backend = &b}); };
            const Tensor whole = unwritten(b, c.conv, dtype), out = unwritten(b, c.out, dtype),
                         expected = unwritten(b, c.out, dtype), argmax = places(), expected_argmax = places();
            b.conv2d(whole, in[0], in[1], in[2], c.params, epilogue);
            b.max_pool2d(expected, expected_argmax, whole, c.pool);
            b.conv2d_max_pool2d(out, argmax, in[0], in[1], in[2], c.params, epilogue, c.pool);
            EXPECT_TRUE(bits(out) == bits(expected));
            EXPECT_TRUE(bits(argmax) == bits(expected_argmax));
          }
      },
      {DType::f32});
}

// Against the separate kernels of the oracle. The result and the places of the maxima are the oracle's too:
// where two values are nearly equal, rounding decides.
TEST(Conv2dLayer, Gradients) {
  for (const LayerCase& c : kLayerCases)
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

// What is not wanted is not there, nor what only it would need; behind a pooling and relu, and alone.
TEST(Conv2dLayer, EachGradientAlone) {
  for (const LayerCase& c : kLayerCases)
    for (const bool with_pool : {false, true}) {
      SCOPED_TRACE(cat("x ", c.x, " weight ", c.weight, " pool ", with_pool));
      const Tensor x = random(c.x, 1), weight = random(c.weight, 2);
      const Tensor grad = random(with_pool ? c.out : c.conv, 3);
      const Tensor argmax = Tensor::zeros(c.out, {.dtype = DType::u8, .backend = &oracle()});
      const Tensor y = with_pool ? pooled(oracle(), c, x, weight, argmax) : Tensor();
      const auto run = [&](const Tensor& result, const Tensor& other, auto set) {
        compare(
            {result}, {grad, other, y, with_pool ? argmax : Tensor()},
            [&](Backend& b, Tensors out, Tensors in) {
              Conv2dBackward layer{.grad_out = in[0],
                                   .out = in[2],
                                   .argmax = in[3],
                                   .conv_out = {c.conv[1], c.conv[2]},
                                   .params = c.params,
                                   .pool = c.pool};
              set(layer, out[0], in[1]);
              b.conv2d_backward(layer);
            },
            kWinograd);
      };
      run(blank(c.x), weight,
          [](auto& layer, auto& out, auto& in) { layer.grad_x = out, layer.weight = in; });
      run(blank(c.weight), x,
          [](auto& layer, auto& out, auto& in) { layer.grad_weight = out, layer.x = in; });
      run(blank({c.weight[0]}), {}, [](auto& layer, auto& out, auto&) { layer.grad_bias = out; });
    }
}

// Layers with a convolution in front, and with dropout behind.
struct RunCase {
  Shape x, front, weight;   // images, filters OHWI of both; no front if it is empty
  Shape middle, conv, out;  // the front's result, the convolution's, the layer's
  Conv2dParams front_params = {}, params = {};
  bool pools = true, drops = true;
  bool is_fused = true;  // by the fast backend
  Pool2dParams pool = {};
};

const RunCase kRuns[] = {
    // The nets' beginnings, and what follows.
    {{5, 12, 12, 1}, {32, 3, 3, 1}, {64, 3, 3, 32}, {5, 10, 10, 32}, {5, 8, 8, 64}, {5, 4, 4, 64}},
    {{3, 9, 8, 3},
     {16, 3, 3, 3},
     {16, 3, 3, 16},
     {3, 9, 8, 16},
     {3, 7, 6, 16},
     {3, 3, 3, 16},
     {.padding = {1, 1, 1, 1}}},
    {{7, 9, 9, 16}, {}, {32, 3, 3, 16}, {7, 9, 9, 16}, {7, 7, 7, 32}, {7, 3, 3, 32}},
    // Without pooling, without dropout; filters of another size, strides; more images than in the scratch.
    {{2, 10, 9, 2},
     {16, 3, 3, 2},
     {16, 3, 3, 16},
     {2, 8, 7, 16},
     {2, 6, 5, 16},
     {2, 6, 5, 16},
     {},
     {},
     false},
    {{2, 13, 13, 3},
     {32, 2, 2, 3},
     {16, 3, 3, 32},
     {2, 6, 6, 32},
     {2, 4, 4, 16},
     {2, 2, 2, 16},
     {.stride = {2, 2}},
     {},
     true,
     false},
    // Windows far apart: the last five rows and columns of the convolution are seen by none, the front's are
    // made.
    {{2, 23, 23, 3},
     {32, 3, 3, 3},
     {16, 3, 3, 32},
     {2, 21, 21, 32},
     {2, 19, 19, 16},
     {2, 2, 2, 16},
     {},
     {},
     true,
     true,
     true,
     {{2, 2}, {12, 12}}},
    {{19, 28, 28, 1}, {16, 3, 3, 1}, {16, 3, 3, 16}, {19, 26, 26, 16}, {19, 24, 24, 16}, {19, 12, 12, 16}},
    // A front that would cost too much twice; channels that are no whole vectors.
    {{2, 8, 8, 16},
     {16, 3, 3, 16},
     {16, 3, 3, 16},
     {2, 6, 6, 16},
     {2, 4, 4, 16},
     {2, 2, 2, 16},
     {},
     {},
     true,
     true,
     false},
    {{2, 8, 8, 1},
     {2, 3, 3, 1},
     {3, 3, 3, 2},
     {2, 6, 6, 2},
     {2, 4, 4, 3},
     {2, 2, 2, 3},
     {},
     {},
     true,
     true,
     false},
};

constexpr DropoutParams kDropout{.rate = 0.25, .seed = 7, .op = 3};

Tensor keys_of(const RunCase& c) {
  std::vector<std::int64_t> keys;
  for (std::int64_t i = 0; i < c.x[0]; ++i) keys.insert(keys.end(), {100 + 7 * i, 2});
  return Tensor::from<std::int64_t>({c.x[0], 2}, keys, &oracle());
}

// x, weight and bias of both convolutions, keys
Tensors inputs_of(const RunCase& c) {
  const bool has_front = c.front.rank() > 0;
  return {random(c.x, 1),
          has_front ? random(c.front, 2) : Tensor(),
          has_front ? random({c.front[0]}, 3) : Tensor(),
          random(c.weight, 4),
          random({c.weight[0]}, 5),
          c.drops ? keys_of(c) : Tensor()};
}

Conv2dLayer layer_of(const RunCase& c, Backend& b, const Tensor& out, const Tensors& in) {
  Conv2dLayer layer{.out = out,
                    .x = in[0],
                    .conv = {in[3], in[4], c.params, Epilogue::relu},
                    .pool = c.pool,
                    .dropout = kDropout};
  if (c.front.rank() > 0) layer.front = Conv2dStage{in[1], in[2], c.front_params, Epilogue::relu};
  if (c.pools) layer.argmax = Tensor::empty(c.out, {.dtype = DType::u8, .backend = &b});
  layer.sample_keys = in[5];
  return layer;
}

TEST(Conv2dLayer, IsItsPartsOneAfterTheOther) {
  for (const RunCase& c : kRuns) {
    SCOPED_TRACE(cat("x ", c.x, " front ", c.front, " weight ", c.weight));
    compare(
        {blank(c.out)}, inputs_of(c),
        [&](Backend& b, Tensors out, Tensors in) { b.conv2d_layer(layer_of(c, b, out[0], in)); }, kWinograd);
  }
}

TEST(Conv2dLayer, GradientsOfAllItsParts) {
  for (const RunCase& c : kRuns) {
    SCOPED_TRACE(cat("x ", c.x, " front ", c.front, " weight ", c.weight));
    const bool has_front = c.front.rank() > 0;
    Tensors inputs = inputs_of(c);
    const Tensor y = unwritten(oracle(), c.out, DType::f64);
    const Conv2dLayer forward = layer_of(c, oracle(), y, inputs);
    oracle().conv2d_layer(forward);
    inputs.insert(inputs.end(), {y, forward.argmax, random(c.out, 6)});
    compare(
        {has_front ? Tensor() : blank(c.x), blank(c.weight), blank({c.weight[0]}),
         has_front ? blank(c.front) : Tensor(), has_front ? blank({c.front[0]}) : Tensor()},
        inputs,
        [&](Backend& b, Tensors out, Tensors in) {
          Conv2dLayerBackward layer;
          layer.conv = {.grad_x = out[0],
                        .grad_weight = out[1],
                        .grad_bias = out[2],
                        .grad_out = in[8],
                        .x = in[0],
                        .weight = in[3],
                        .out = in[6],
                        .argmax = in[7],
                        .conv_out = {c.conv[1], c.conv[2]},
                        .params = c.params,
                        .pool = c.pool};
          if (has_front) layer.front = Conv2dStage{in[1], in[2], c.front_params, Epilogue::relu};
          layer.grad_front_weight = out[3];
          layer.grad_front_bias = out[4];
          layer.dropout_scale = c.drops ? 1 / (1 - kDropout.rate) : 1.0;
          b.conv2d_layer_backward(layer);
        },
        kWinograd);
  }
}

// Kernels read a pair of keys for each image: of an i64 (n, 2) that is checked, fused or not.
void expect_refused_keys(Backend& b, const Conv2dOptions& conv) {
  const TensorOptions options{.backend = &b}, whole{.dtype = DType::i64, .backend = &b};
  const Variable x = Tensor::full({8, 12, 12, 32}, 1, options),
                 weight = Tensor::full({64, 3, 3, 32}, 1, options);
  const auto run = [&](const Tensor& keys, double rate) {
    conv2d_layer(x, {}, {weight, {}, conv}, DropoutCall{keys, {.rate = rate}});
  };
  const Tensor keys = Tensor::zeros({8, 2}, whole), half = Tensor::zeros({8, 2}, {DType::i32, &b});
  for (const Tensor& bad : {Tensor::zeros({2, 2}, whole), half, Tensor()})
    expect_error([&] { run(bad, 0.5); }, "[dropout] sample keys must be i64 (8, 2), got ");
  expect_error([&] { run(keys, 1); }, "[dropout] rate must be in [0, 1), got 1");
  EXPECT_NO_THROW(run({}, 0));
  EXPECT_NO_THROW(run(keys, 0.5));
}

TEST(Conv2dLayer, RefusesKeysThatAreNotThoseOfItsImages) {
  for (Backend* b : tested_backends()) {
    expect_refused_keys(*b, {.epilogue = Epilogue::relu});
    expect_refused_keys(*b, {.epilogue = Epilogue::relu, .max_pool = Pool2dOptions{}});
  }
}

bool is_fused(const RunCase& c, const Backend& b, DType dtype) {
  if (b.name() == "cuda") return c.front.rank() == 0 && c.pools && c.drops;
  return b.name() == "onednn" && dtype != DType::f64 && c.is_fused;
}

TEST(Conv2dLayer, FastBackendsFuseTheNetsLayers) {
  const auto check = [](Backend& b, DType dtype) {
    for (const RunCase& c : kRuns) {
      SCOPED_TRACE(cat("x ", c.x, " front ", c.front, " weight ", c.weight));
      const Tensors in = copies(inputs_of(c), b, dtype);
      EXPECT_EQ(b.fuses(layer_of(c, b, unwritten(b, c.out, dtype), in)), is_fused(c, b, dtype));
    }
  };
  for_each_setting(check, {DType::f32, DType::f64, DType::bf16});
}

}  // namespace
}  // namespace ronde::test
