#include <limits>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

struct ConvCase {
  std::int64_t n, h, w, c, o, kh, kw;
  Conv2dParams params;

  Shape x() const { return {n, h, w, c}; }
  Shape weight() const { return {o, kh, kw, c / params.groups}; }
  Shape out() const {
    const auto extent = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                           std::int64_t padding) {
      return (in + padding - ((kernel - 1) * dilation + 1)) / stride + 1;
    };
    const Padding2d& p = params.padding;
    return {n, extent(h, kh, params.stride.h, params.dilation.h, p.top + p.bottom),
            extent(w, kw, params.stride.w, params.dilation.w, p.left + p.right), o};
  }
};

// Winograd's algorithm, which 3x3 filters run by where channels allow it, rounds to 1e-5 of the largest
// value.
Tolerance tolerance_of(const ConvCase& c) {
  const Conv2dParams& p = c.params;
  const bool may_be_winograd = c.kh == 3 && c.kw == 3 && p.stride == Size2d{} && p.dilation == Size2d{} &&
                               p.groups == 1 && c.c >= 4 && c.o >= 4;
  return may_be_winograd ? Tolerance{.f32 = 1e-5} : Tolerance{};
}

std::string to_string(const ConvCase& c) {
  return cat("x ", c.x(), " weight ", c.weight(), " out ", c.out(), " groups ", c.params.groups);
}

const ConvCase kConvCases[] = {
    // The two nets' kinds of layers, small.
    {5, 9, 9, 1, 32, 3, 3, {}},
    {5, 8, 8, 32, 64, 3, 3, {}},
    {3, 7, 7, 3, 32, 3, 3, {.padding = {1, 1, 1, 1}}},
    {7, 6, 6, 32, 32, 3, 3, {}},
    {2, 5, 5, 64, 64, 3, 3, {.padding = {1, 1, 1, 1}}},
    // No images, one image, one pixel.
    {0, 6, 6, 3, 32, 3, 3, {}},
    {0, 6, 6, 16, 16, 3, 3, {}},
    {1, 1, 1, 16, 16, 1, 1, {}},
    {1, 3, 3, 1, 16, 3, 3, {}},
    // Odd channels.
    {2, 6, 7, 1, 1, 3, 3, {}},
    {2, 6, 7, 3, 5, 3, 3, {}},
    {2, 6, 7, 5, 17, 3, 3, {}},
    {2, 6, 7, 17, 32, 3, 3, {}},
    {3, 6, 7, 32, 3, 2, 2, {}},
    {2, 6, 7, 33, 48, 1, 1, {}},
    // Few filters: one to more than a block, rows under a filter that are no whole vectors, rows of few
    // pixels,
    // strides, and padding that leaves no frame or more than one for the gradient.
    {3, 6, 7, 16, 1, 3, 3, {.padding = {1, 1, 1, 1}}},
    {3, 9, 5, 21, 3, 3, 3, {.padding = {2, 0, 1, 2}}},
    {2, 5, 3, 40, 6, 1, 1, {}},
    {1, 19, 2, 17, 2, 5, 1, {.padding = {2, 2, 0, 0}}},
    {3, 9, 12, 32, 7, 3, 3, {.stride = {2, 2}, .padding = {0, 1, 0, 1}}},
    {2, 6, 9, 5, 4, 2, 4, {.padding = {0, 1, 1, 2}}},
    {2, 4, 4, 16, 3, 2, 2, {.padding = {3, 3, 3, 3}}},
    {3, 7, 9, 3, 20, 3, 2, {.padding = {0, 1, 1, 0}}},
    // One image, large enough for threads to share it.
    {1, 64, 40, 48, 3, 3, 3, {.padding = {1, 1, 1, 1}}},
    // Few input channels: sizes that do not fill a block, strides, frames.
    {2, 13, 30, 1, 48, 3, 3, {}},
    {2, 12, 17, 2, 64, 5, 5, {.stride = {2, 2}, .padding = {1, 2, 1, 2}}},
    {2, 9, 8, 4, 16, 7, 7, {.stride = {2, 3}, .padding = {3, 3, 3, 3}}},
    {2, 8, 9, 3, 32, 2, 4, {.stride = {3, 1}}},
    {9, 8, 9, 1, 64, 4, 4, {.stride = {2, 2}, .padding = {1, 1, 1, 1}}},
    {1, 12, 10, 4, 40, 5, 5, {.stride = {3, 2}, .padding = {2, 2, 2, 2}}},
    // Channels that fill no whole tiles, and more of them than one; filters that are no squares.
    {2, 9, 11, 20, 72, 3, 5, {.padding = {2, 0, 1, 3}}},
    {1, 7, 6, 80, 40, 3, 3, {}},
    // Strides, asymmetric padding, dilation.
    {3, 9, 11, 16, 32, 3, 3, {.stride = {2, 2}, .padding = {0, 1, 0, 1}}},
    {2, 9, 11, 16, 32, 3, 5, {.stride = {1, 2}, .padding = {2, 0, 1, 3}}},
    {2, 10, 10, 16, 16, 3, 3, {.padding = {2, 2, 2, 2}, .dilation = {2, 2}}},
    {2, 12, 9, 3, 16, 3, 2, {.dilation = {3, 2}}},
    {2, 8, 8, 32, 64, 1, 1, {.stride = {2, 2}}},
    {5, 8, 8, 4, 6, 1, 1, {.stride = {2, 2}}},
    {5, 16, 16, 5, 7, 1, 1, {.stride = {2, 2}}},
    {2, 9, 8, 20, 12, 1, 1, {.stride = {3, 1}}},
    {2, 8, 8, 8, 6, 1, 1, {.stride = {1, 2}, .groups = 2}},
    // Groups and depthwise.
    {2, 7, 7, 32, 64, 3, 3, {.padding = {1, 1, 1, 1}, .groups = 2}},
    {2, 7, 7, 12, 8, 3, 3, {.groups = 4}},
    {3, 7, 7, 32, 32, 3, 3, {.padding = {1, 1, 1, 1}, .groups = 32}},
    {2, 7, 7, 5, 10, 3, 3, {.stride = {2, 2}, .groups = 5}},
    // Depthwise, by loops of our own: large filters, several vectors of channels and what is left of them,
    // windows that lie mostly outside and, of each width, inside, strides, dilation, several filters a
    // channel.
    {5, 9, 8, 83, 83, 5, 5, {.padding = {2, 2, 2, 2}, .groups = 83}},
    {2, 10, 13, 64, 64, 5, 4, {.stride = {2, 3}, .padding = {1, 2, 0, 3}, .groups = 64}},
    {2, 3, 2, 17, 17, 7, 7, {.padding = {3, 3, 3, 3}, .groups = 17}},
    {3, 9, 10, 20, 20, 3, 3, {.stride = {1, 2}, .padding = {2, 2, 3, 2}, .dilation = {2, 3}, .groups = 20}},
    {2, 7, 19, 37, 37, 5, 5, {.padding = {2, 2, 2, 2}, .groups = 37}},
    {2, 8, 21, 20, 20, 7, 7, {.padding = {3, 3, 3, 3}, .groups = 20}},
    {2, 9, 18, 24, 24, 3, 7, {.padding = {1, 1, 2, 4}, .groups = 24}},
    {2, 5, 14, 20, 20, 5, 5, {.padding = {2, 2, 2, 2}, .groups = 20}},
    {2, 4, 3, 17, 17, 3, 7, {.padding = {1, 1, 5, 5}, .groups = 17}},
    {3, 17, 21, 40, 40, 5, 5, {.stride = {2, 2}, .padding = {1, 2, 1, 2}, .groups = 40}},
    {2, 14, 22, 18, 18, 3, 3, {.padding = {2, 2, 2, 2}, .dilation = {2, 2}, .groups = 18}},
    {5, 6, 7, 12, 36, 3, 3, {.padding = {1, 1, 1, 1}, .groups = 12}},
    {2, 8, 7, 40, 80, 3, 2, {.stride = {2, 1}, .dilation = {1, 2}, .groups = 40}},
    // Winograd's tiles: one and a bit, cut at either edge, more than a block of them, padding on one side
    // only, channels in one and in several blocks of columns, and in no whole number of vectors.
    {3, 6, 6, 16, 16, 3, 3, {}},
    {2, 7, 11, 16, 48, 3, 3, {.padding = {0, 1, 1, 0}}},
    {4, 13, 10, 32, 16, 3, 3, {.padding = {2, 0, 0, 2}}},
    {9, 8, 12, 48, 80, 3, 3, {.padding = {1, 1, 1, 1}}},
    {2, 9, 9, 128, 96, 3, 3, {.padding = {1, 1, 1, 1}}},
    {1, 3, 4, 64, 32, 3, 3, {.padding = {1, 2, 2, 1}}},
    {2, 7, 6, 24, 40, 3, 3, {.padding = {1, 1, 1, 1}}},
    {3, 6, 9, 33, 17, 3, 3, {.padding = {0, 1, 1, 1}}},
    {60, 2, 4, 72, 76, 3, 3, {.padding = {1, 1, 1, 1}}},
    {2, 4, 4, 150, 144, 3, 3, {.padding = {1, 1, 1, 1}}},
    // Tiles of 5x5 and 6x6 that cover the output exactly, and more than it.
    {2, 17, 12, 24, 40, 3, 3, {}},
    {7, 13, 15, 64, 32, 3, 3, {.padding = {1, 1, 1, 1}}},
    {3, 12, 6, 33, 17, 3, 3, {.padding = {1, 1, 1, 1}}},
    {2, 26, 25, 32, 64, 3, 3, {.padding = {0, 0, 1, 0}}},
    // Products of patches: several images a call and a rest, more rows than a call has, windows that reach
    // over the edges and that leave pixels out.
    {70, 8, 8, 64, 128, 3, 3, {.stride = {2, 2}, .padding = {0, 1, 0, 1}}},
    {3, 33, 35, 64, 128, 3, 3, {.stride = {2, 2}, .padding = {1, 1, 1, 1}}},
    {2, 11, 9, 64, 96, 4, 5, {.stride = {2, 3}, .padding = {3, 4, 0, 2}}},
    {3, 7, 7, 256, 512, 1, 1, {.stride = {2, 2}}},
    {2, 9, 4, 80, 112, 3, 3, {.stride = {1, 4}, .padding = {1, 1, 2, 2}}},
    // 1x1 with many weights, with pixels in short rows, and with channels enough.
    {3, 3, 4, 272, 256, 1, 1, {}},
    {3, 6, 7, 32, 48, 1, 1, {}},
    {2, 3, 13, 64, 80, 1, 1, {}},
    // The same with so many pixels that floats are split for tiles.
    {3, 16, 13, 256, 272, 1, 1, {}},
    {2, 13, 12, 232, 260, 1, 1, {}},
    {5, 6, 6, 512, 72, 1, 1, {}},
    {5, 1, 1, 132, 21, 1, 1, {}},
    // Few of Winograd's tiles beside the filters: one, some, with a rest of columns and of rows; more threads
    // than images and fewer.
    {1, 4, 3, 144, 112, 3, 3, {.padding = {1, 1, 1, 1}}},
    {20, 4, 4, 40, 208, 3, 3, {.padding = {1, 1, 1, 1}}},
    {5, 4, 5, 64, 76, 3, 3, {.padding = {1, 1, 1, 1}}},
    {2, 5, 7, 72, 93, 3, 3, {.padding = {0, 1, 1, 1}}},
    {2, 12, 7, 64, 76, 3, 3, {}},
    // Fewer images than threads, who share patches, channels, tiles or rows.
    {1, 15, 16, 128, 80, 3, 3, {.stride = {2, 2}, .padding = {0, 1, 1, 0}}},
    {1, 14, 15, 32, 64, 3, 3, {.padding = {1, 1, 1, 1}}},
    {1, 15, 14, 64, 32, 3, 3, {.padding = {1, 1, 1, 1}}},
    {1, 41, 38, 16, 17, 3, 3, {.padding = {1, 1, 1, 1}}},
    {2, 20, 21, 16, 24, 3, 5, {.stride = {1, 2}, .padding = {1, 0, 2, 1}}},
    {1, 43, 41, 32, 48, 1, 1, {}},
    // The same of bands of an image: groups, each channel by itself, filters that reach far out.
    {1, 22, 23, 16, 32, 3, 3, {.padding = {1, 1, 0, 1}, .groups = 2}},
    {1, 44, 45, 72, 72, 3, 3, {.padding = {0, 1, 1, 1}, .groups = 72}},
    {2, 88, 45, 24, 24, 5, 5, {.stride = {2, 1}, .padding = {2, 2, 2, 2}, .dilation = {2, 1}, .groups = 24}},
    {1, 47, 46, 32, 64, 3, 3, {.padding = {1, 1, 1, 1}, .groups = 32}},
    {1, 2, 24, 16, 32, 9, 5, {.padding = {8, 8, 2, 2}, .groups = 2}},
    // Bands for whose number of rows oneDNN 2.6 has nothing in the layout of weights that others like.
    {1, 5, 5, 48, 64, 7, 7, {.padding = {3, 3, 3, 3}}},
    {1, 12, 12, 64, 192, 1, 7, {.padding = {0, 0, 3, 3}}},
    // Of bf16 in bands: strides, whose first or last phase reaches most lines, dilation, several filters a
    // channel.
    {2, 141, 61, 40, 40, 3, 3, {.stride = {2, 2}, .padding = {0, 1, 1, 1}, .groups = 40}},
    {1,
     100,
     50,
     40,
     120,
     5,
     3,
     {.stride = {3, 2}, .padding = {3, 2, 0, 1}, .dilation = {2, 1}, .groups = 40}},
    // What transposed convolutions go back from: windows that meet, that overlap and that leave pixels out.
    {3, 10, 12, 16, 32, 2, 2, {.stride = {2, 2}}},
    {2, 12, 10, 24, 16, 4, 4, {.stride = {2, 2}, .padding = {1, 1, 1, 1}}},
    {2, 9, 12, 16, 16, 2, 3, {.stride = {3, 4}}},
    // Weights larger than an image: several images a call, and a rest.
    {11, 3, 3, 96, 96, 3, 3, {.padding = {1, 1, 1, 1}}},
    // Rows that do not divide into blocks, padding wider than the filter reaches.
    {1, 5, 29, 32, 32, 3, 3, {.padding = {1, 0, 0, 1}}},
    {2, 4, 4, 16, 16, 2, 2, {.padding = {2, 2, 2, 2}}},
};

/// Whether it is one of each `few` cases. Neighbours are alike; so what all of a case's choices would find,
/// those of a case and its neighbours find too, in half of the time.
bool is_one_of(int few, const ConvCase& c) {
  return (&c - std::begin(kConvCases)) % few == 0;
}

TEST(Conv2d, Forward) {
  for (const ConvCase& c : kConvCases)
    for (const bool with_bias : {false, true}) {
      SCOPED_TRACE(to_string(c));
      const Epilogue epilogue = with_bias == is_one_of(2, c) ? Epilogue::relu : Epilogue::none;
      compare(
          {blank(c.out())},
          {random(c.x(), 1), random(c.weight(), 2), with_bias ? random({c.o}, 3) : Tensor()},
          [&](Backend& b, Tensors out, Tensors in) {
            b.conv2d(out[0], in[0], in[1], in[2], c.params, epilogue);
          },
          tolerance_of(c));
    }
}

TEST(Conv2d, BackwardInput) {
  for (const ConvCase& c : kConvCases) {
    SCOPED_TRACE(to_string(c));
    compare(
        {blank(c.x())}, {random(c.out(), 1), random(c.weight(), 2)},
        [&](Backend& b, Tensors out, Tensors in) { b.conv2d_backward_input(out[0], in[0], in[1], c.params); },
        tolerance_of(c));
  }
}

TEST(Conv2d, BackwardWeight) {
  for (const ConvCase& c : kConvCases) {
    SCOPED_TRACE(to_string(c));
    compare(
        {blank(c.weight()), is_one_of(4, c) ? Tensor() : blank({c.o})},
        {random(c.out(), 1), random(c.x(), 2)},
        [&](Backend& b, Tensors out, Tensors in) {
          b.conv2d_backward_weight(out[0], out[1], in[0], in[1], c.params);
        },
        tolerance_of(c));
  }
}

bool has_a_nan(const Tensor& x) {
  const std::vector<float> values = x.to(DType::f32).to_vector<float>();
  return std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

// A diverged run must not look healthy because a layer turned its NaN into 0. With a bias, as layers have
// one, other engines of a library compute it than without.
TEST(Conv2d, ReluKeepsANan) {
  for (const ConvCase& c : kConvCases)
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const bool with_bias : {false, true}) {
        if (c.out().count() == 0) continue;
        SCOPED_TRACE(cat(to_string(c), ' ', to_string(dtype), with_bias ? " with a bias" : ""));
        for (Backend* b : tested_backends()) {
          const TensorOptions options{.dtype = dtype, .backend = b};
          const Tensor x = Tensor::full(c.x(), std::numeric_limits<double>::quiet_NaN(), options);
          const Tensor bias = with_bias ? Tensor::zeros({c.o}, {.backend = b}) : Tensor();
          const Tensor y = Tensor::zeros(c.out(), options);
          b->conv2d(y, x, Tensor::full(c.weight(), 1.0, options), bias, c.params, Epilogue::relu);
          EXPECT_TRUE(has_a_nan(y)) << b->name();
        }
      }
}

// `last_of(begin, end)` makes images [begin, end) and gives the last one. Threads share one image in another
// way than many.
template <class F>
void expect_last_is_the_same_alone(Backend& b, std::int64_t images, const F& last_of) {
  for (const int threads : {1, 2}) {
    b.threads().resize(threads);
    EXPECT_EQ(last_of(0, images), last_of(images - 1, images)) << b.name() << ", " << threads << " threads";
  }
  b.threads().resize(1);
}

// A tile's result may not depend on the tiles that are computed with it. On a GPU cuDNN may take another
// engine for another batch, with sums in another order, and promises nothing.
TEST(Conv2d, AnImageIsTheSameInAnyBatch) {
  for (const ConvCase& c : kConvCases) {
    if (c.n < 2) continue;
    SCOPED_TRACE(to_string(c));
    const Tensor x = random(c.x(), 1), weight = random(c.weight(), 2);
    for (Backend* b : tested_backends()) {
      if (b->device().type == DeviceType::cuda) continue;
      const auto output = [&](std::int64_t begin, std::int64_t end) {
        const Tensors in = copies({x.slice(0, begin, end).contiguous(), weight}, *b, DType::f32);
        const Shape shape = c.out();
        const Tensor y = Tensor::empty({end - begin, shape[1], shape[2], shape[3]}, in[0].options());
        b->conv2d(y, in[0], in[1], {}, c.params, Epilogue::none);
        return y.slice(0, end - begin - 1, end - begin).contiguous().to_vector<float>();
      };
      expect_last_is_the_same_alone(*b, c.n, output);
    }
  }
}

// The same of the gradient of the input, which is the forward pass of a transposed convolution.
TEST(Conv2d, AnImagesInputGradientIsTheSameInAnyBatch) {
  for (const ConvCase& c : kConvCases) {
    if (c.n < 2) continue;
    SCOPED_TRACE(to_string(c));
    const Tensor grad = random(c.out(), 1), weight = random(c.weight(), 2);
    for (Backend* b : tested_backends()) {
      if (b->device().type == DeviceType::cuda) continue;
      const auto input_gradient = [&](std::int64_t begin, std::int64_t end) {
        const Tensors in = copies({grad.slice(0, begin, end).contiguous(), weight}, *b, DType::f32);
        const Tensor x = Tensor::empty({end - begin, c.h, c.w, c.c}, in[0].options());
        b->conv2d_backward_input(x, in[0], in[1], c.params);
        return x.slice(0, end - begin - 1, end - begin).contiguous().to_vector<float>();
      };
      expect_last_is_the_same_alone(*b, c.n, input_gradient);
    }
  }
}

TEST(Conv2d, BatchesOfManySizesShareOneLayout) {
  // A rest of r images must not take over the layout of a batch of r, nor the other way round.
  for (const std::int64_t n : {4, 11, 3, 1, 6, 11, 2}) {
    const ConvCase c{n, 3, 3, 96, 96, 3, 3, {.padding = {1, 1, 1, 1}}};
    compare(
        {blank(c.out())}, {random(c.x(), 1), random(c.weight(), 2)},
        [&](Backend& b, Tensors out, Tensors in) {
          b.conv2d(out[0], in[0], in[1], {}, c.params, Epilogue::none);
        },
        tolerance_of(c));
  }
}

}  // namespace
}  // namespace ronde::test
