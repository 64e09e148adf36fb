/// Convolution of one image with few input channels (a net's first layer), vectorised over output channels.
/// A general kernel wants to vectorise over the input channels too and wastes most of each vector.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kOutVectors = 2;  // output channels / kLanes of one block
constexpr int kPixelBlock =
    kVectorRegisters >= 32 ? 12 : 6;  // accumulators fill three quarters of the registers
constexpr int kTapBlock = kVectorRegisters >= 32 ? 9 : 6;

// Where each of the kh * kw * c values under a filter lies, counted from the window's first.
struct TapOffsets {
  std::int64_t offset[kMaxThinTaps];
  std::int64_t count;

  explicit TapOffsets(const ThinConvShape& s) : count(0) {
    for (std::int64_t y = 0; y < s.kh; ++y)
      for (std::int64_t i = 0; i < s.kw * s.c; ++i) offset[count++] = y * s.w * s.c + i;
  }
};

// `pixels` neighbours in a row, `vectors` * kLanes output channels. `weight` and `bias` begin at the channel.
template <int pixels, int vectors>
inline void thin_block(float* out, const float* x, const float* weight, const float* bias,
                       const TapOffsets& taps, const ThinConvShape& s, Epilogue epilogue) {
  Vector total[pixels][vectors];
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) total[p][v] = bias ? load(bias + v * kLanes) : Vector{};
  for (std::int64_t t = 0; t < taps.count; ++t) {
    const float* from = x + taps.offset[t];
    Vector w[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) w[v] = load(weight + t * s.o + v * kLanes);
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) total[p][v] += w[v] * from[p * s.stride_w * s.c];
  }
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      store(out + p * s.o + v * kLanes,
            epilogue == Epilogue::relu ? positive_part(total[p][v]) : total[p][v]);
}

template <int vectors>
inline void thin_row(float* out, const float* x, const float* weight, const float* bias,
                     const TapOffsets& taps, const ThinConvShape& s, Epilogue epilogue) {
  std::int64_t ox = 0;
  const auto block = [&]<int pixels>() {
    thin_block<pixels, vectors>(out + ox * s.o, x + ox * s.stride_w * s.c, weight, bias, taps, s, epilogue);
    ox += pixels;
  };
  while (ox + kPixelBlock <= s.ow) block.template operator()<kPixelBlock>();
  while (ox + 3 <= s.ow) block.template operator()<3>();
  while (ox < s.ow) block.template operator()<1>();
}

void thin_conv(float* out, const float* x, const float* weight, const float* bias, const ThinConvShape& s,
               Epilogue epilogue) {
  const TapOffsets taps(s);
  for (std::int64_t oy = 0; oy < s.oh; ++oy) {
    const float* from = x + oy * s.stride_h * s.w * s.c;
    std::int64_t o = 0;
    const auto row = [&]<int vectors>() {
      thin_row<vectors>(out + oy * s.ow * s.o + o, from, weight + o, bias ? bias + o : bias, taps, s,
                        epilogue);
      o += vectors * kLanes;
    };
    while (o + kOutVectors * kLanes <= s.o) row.template operator()<kOutVectors>();
    while (o < s.o) row.template operator()<1>();
  }
}

// grad_weight of `taps` taps from `first` on and `vectors` * kLanes output channels, over the whole image.
template <int taps, int vectors>
inline void thin_gradient_block(float* grad_weight, const float* grad_out, const float* x,
                                const std::int64_t* offset, const ThinConvShape& s) {
  Vector total[taps][vectors] = {};
  for (std::int64_t oy = 0; oy < s.oh; ++oy) {
    const float* from = x + oy * s.stride_h * s.w * s.c;
    const float* g = grad_out + oy * s.ow * s.o;
    for (std::int64_t ox = 0; ox < s.ow; ++ox, from += s.stride_w * s.c, g += s.o) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const Vector gradient = load(g + v * kLanes);
#pragma GCC unroll 16
        for (int t = 0; t < taps; ++t) total[t][v] += gradient * from[offset[t]];
      }
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < taps; ++t)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      float* to = grad_weight + t * s.o + v * kLanes;
      store(to, load(to) + total[t][v]);
    }
}

template <int vectors>
inline void thin_gradient(float* grad_weight, float* grad_bias, const float* grad_out, const float* x,
                          const TapOffsets& taps, const ThinConvShape& s) {
  std::int64_t t = 0;
  const auto block = [&]<int count>() {
    thin_gradient_block<count, vectors>(grad_weight + t * s.o, grad_out, x, taps.offset + t, s);
    t += count;
  };
  while (t + kTapBlock <= taps.count) block.template operator()<kTapBlock>();
  while (t + 3 <= taps.count) block.template operator()<3>();
  while (t < taps.count) block.template operator()<1>();
  if (!grad_bias) return;
  Vector total[vectors] = {};
  for (std::int64_t i = 0; i < s.oh * s.ow; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) total[v] += load(grad_out + i * s.o + v * kLanes);
  for (int v = 0; v < vectors; ++v) store(grad_bias + v * kLanes, load(grad_bias + v * kLanes) + total[v]);
}

void thin_conv_backward_weight(float* grad_weight, float* grad_bias, const float* grad_out, const float* x,
                               const ThinConvShape& s) {
  const TapOffsets taps(s);
  std::int64_t o = 0;
  const auto block = [&]<int vectors>() {
    thin_gradient<vectors>(grad_weight + o, grad_bias ? grad_bias + o : grad_bias, grad_out + o, x, taps, s);
    o += vectors * kLanes;
  };
  while (o + kOutVectors * kLanes <= s.o) block.template operator()<kOutVectors>();
  while (o < s.o) block.template operator()<1>();
}

}  // namespace
}  // namespace ronde::inline v0
