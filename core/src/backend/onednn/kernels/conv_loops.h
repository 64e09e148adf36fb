/// Convolution of one image, vectorised over output channels: a block of neighbouring pixels x output
/// channels stays in registers while all taps go by; per tap a few loads of weights, one broadcast of x per
/// pixel.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kOutVectors = 2;  // output channels / kLanes of one block
constexpr int kPixelBlock =
    kVectorRegisters >= 32 ? 12 : 6;  // accumulators fill three quarters of the registers

// The block of pixels that comes next: of the result its first channel.
struct NextBlock {
  const float* x;
  float* out;
};

// `pixels` neighbours in a row, `vectors` vectors of output channels `step` apart. `weight` and `bias` begin
// at the channel. What the next block reads and writes is asked for meanwhile: a line of x for each tap is
// more than enough.
template <int pixels, int vectors>
inline void direct_block(float* out, const float* x, const float* weight, const float* bias,
                         std::int64_t step, const ConvShape& s, const NextBlock& next, Epilogue epilogue) {
  Vector total[pixels][vectors];
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) total[p][v] = bias ? load(bias + v * step) : Vector{};
  // Under a filter, each row's kw * c values lie side by side.
  for (std::int64_t ky = 0; ky < s.kh; ++ky, x += s.w * s.c)
    for (std::int64_t t = 0; t < s.kw * s.c; ++t, weight += s.o) {
      const float* from = x + t;
      Vector w[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) w[v] = load(weight + v * step);
      if (ky == 0) {
        __builtin_prefetch(next.x + t * kCacheLine);
        if (t < pixels) __builtin_prefetch(next.out + t * s.o, 1);
        if (vectors > 1 && t < pixels) __builtin_prefetch(next.out + t * s.o + step, 1);
      }
#pragma GCC unroll 16
      for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) total[p][v] += w[v] * from[p * s.stride_w * s.c];
    }
#pragma GCC unroll 16
  for (int p = 0; p < pixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      store(out + p * s.o + v * step, epilogue == Epilogue::relu ? positive_part(total[p][v]) : total[p][v]);
}

// Runs the block of `pixels`, known only now, in the function made for that number.
template <int most, int vectors>
inline void direct_block_of(std::int64_t pixels, float* out, const float* x, const float* weight,
                            const float* bias, std::int64_t step, const ConvShape& s, const NextBlock& next,
                            Epilogue epilogue) {
  if (pixels == most) return direct_block<most, vectors>(out, x, weight, bias, step, s, next, epilogue);
  if constexpr (most > 1)
    direct_block_of<most - 1, vectors>(pixels, out, x, weight, bias, step, s, next, epilogue);
}

// A row in blocks of about equal size: a short last one would waste most of its time waiting.
template <int vectors>
[[gnu::noinline]] void direct_row(float* out, const float* x, const float* weight, const float* bias,
                                  std::int64_t step, const ConvShape& s, Epilogue epilogue) {
  const std::int64_t blocks = (s.ow + kPixelBlock - 1) / kPixelBlock;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t begin = s.ow * b / blocks, end = s.ow * (b + 1) / blocks;
    direct_block_of<kPixelBlock, vectors>(end - begin, out + begin * s.o, x + begin * s.stride_w * s.c,
                                          weight, bias, step, s,
                                          {x + end * s.stride_w * s.c, out + end * s.o}, epilogue);
  }
}

void direct_conv(float* out, const float* x, const float* weight, const float* bias, const ConvShape& s,
                 Epilogue epilogue) {
  for (std::int64_t oy = 0; oy < s.oh; ++oy) {
    const float* from = x + oy * s.stride_h * s.w * s.c;
    const auto row = [&]<int vectors>(std::int64_t o, std::int64_t step) {
      direct_row<vectors>(out + oy * s.ow * s.o + o, from, weight + o, bias ? bias + o : bias, step, s,
                          epilogue);
    };
    std::int64_t o = 0;
    for (; o + kOutVectors * kLanes <= s.o; o += kOutVectors * kLanes)
      row.template operator()<kOutVectors>(o, kLanes);
    // The last vector may have some of the channels before it again.
    if (s.o - o > kLanes)
      row.template operator()<2>(o, s.o - kLanes - o);
    else if (s.o > o)
      row.template operator()<1>(s.o - kLanes, kLanes);
  }
}

}  // namespace
}  // namespace ronde::inline v0
