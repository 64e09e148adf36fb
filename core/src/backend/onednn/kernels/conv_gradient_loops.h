/// The weight gradient of a convolution, one image: grad_weight (tap, o) += x (pixel + tap) * grad_out
/// (pixel, o), where a tap is one of the kh * kw * c values under a filter.
///
/// A block of taps x output channels stays in registers while some rows of the image, which stay in the
/// second level cache, go by: per pixel a few loads of the gradient, one broadcast of x per tap, and all
/// their products.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Output rows [begin, end) of one image.
struct RowRange {
  std::int64_t begin, end;
};

// Where tap t lies, counted from the window's first value.
inline std::int64_t tap_offset(const ConvShape& s, std::int64_t t) {
  const std::int64_t row = s.kw * s.c;
  return t / row * s.w * s.c + t % row;
}

// `taps` taps and `vectors` * kLanes output channels; the pointers begin at the first of them. `adjacent`:
// the taps lie side by side in x from offset[0] on. Of the last vector only the `fresh` lanes count.
template <int taps, int vectors, bool adjacent>
inline void gradient_block(float* grad_weight, const float* grad_out, const float* x,
                           const std::int64_t* offset, const ConvShape& s, RowRange rows, IntVector fresh) {
  Vector total[taps][vectors] = {};
  for (std::int64_t oy = rows.begin; oy < rows.end; ++oy) {
    const float* from = x + oy * s.stride_h * s.w * s.c + (adjacent ? offset[0] : 0);
    const float* g = grad_out + oy * s.ow * s.o;
    for (std::int64_t ox = 0; ox < s.ow; ++ox, from += s.stride_w * s.c, g += s.o) {
      Vector gradient[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) gradient[v] = load(g + v * kLanes);
#pragma GCC unroll 12
      for (int t = 0; t < taps; ++t)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) total[t][v] += gradient[v] * from[adjacent ? t : offset[t]];
    }
  }
#pragma GCC unroll 12
  for (int t = 0; t < taps; ++t)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* to = grad_weight + t * s.o + v * kLanes;
      store(to, load(to) + (v == vectors - 1 ? masked(fresh, total[t][v]) : total[t][v]));
    }
}

// All taps for `vectors` * kLanes output channels.
template <int vectors>
inline void gradient_of_taps(float* grad_weight, const float* grad_out, const float* x, const ConvShape& s,
                             RowRange rows, IntVector fresh) {
  // Accumulators may fill three quarters of the registers.
  constexpr int kMost = kVectorRegisters * 3 / 4 / vectors < 12 ? kVectorRegisters * 3 / 4 / vectors : 12;
  const std::int64_t count = s.kh * s.kw * s.c;
  std::int64_t t = 0;
  const auto blocks = [&]<int taps>() {
    for (; t + taps <= count; t += taps) {
      std::int64_t offset[taps];
      for (int i = 0; i < taps; ++i) offset[i] = tap_offset(s, t + i);
      float* to = grad_weight + t * s.o;
      if (offset[taps - 1] - offset[0] == taps - 1)
        gradient_block<taps, vectors, true>(to, grad_out, x, offset, s, rows, fresh);
      else
        gradient_block<taps, vectors, false>(to, grad_out, x, offset, s, rows, fresh);
    }
  };
  blocks.template operator()<kMost>();
  if constexpr (kMost > 9) blocks.template operator()<9>();
  if constexpr (kMost > 3) blocks.template operator()<3>();
  blocks.template operator()<1>();
}

inline void add_rows(float* grad_bias, const float* grad_out, const ConvShape& s, RowRange rows) {
  const std::int64_t begin = rows.begin * s.ow, end = rows.end * s.ow;
  cover_once(s.o, [&](std::int64_t o, IntVector fresh) {
    // Four sums: one would wait for each addition.
    Vector a{}, b{}, c{}, d{};
    std::int64_t i = begin;
    for (; i + 4 <= end; i += 4) {
      const float* g = grad_out + i * s.o + o;
      a += load(g);
      b += load(g + s.o);
      c += load(g + 2 * s.o);
      d += load(g + 3 * s.o);
    }
    for (; i < end; ++i) a += load(grad_out + i * s.o + o);
    store(grad_bias + o, load(grad_bias + o) + masked(fresh, (a + b) + (c + d)));
  });
}

void conv_backward_weight(float* grad_weight, float* grad_bias, const float* grad_out, const float* x,
                          const ConvShape& s) {
  constexpr std::int64_t kCache = 32768;  // elements; 8192 was 10 % slower, whole images no faster
  const std::int64_t per_row = s.ow * s.o + s.stride_h * s.w * s.c;
  const std::int64_t step = per_row < kCache ? kCache / per_row : 1;
  for (std::int64_t oy = 0; oy < s.oh; oy += step) {
    const RowRange rows{oy, oy + step < s.oh ? oy + step : s.oh};
    std::int64_t o = 0;
    const auto channels = [&]<int vectors>() {
      for (; o + vectors * kLanes <= s.o; o += vectors * kLanes)
        gradient_of_taps<vectors>(grad_weight + o, grad_out + o, x, s, rows, ~IntVector{});
    };
    channels.template operator()<4>();
    channels.template operator()<2>();
    channels.template operator()<1>();
    if (o < s.o) {
      const std::int64_t last = s.o - kLanes;
      gradient_of_taps<1>(grad_weight + last, grad_out + last, x, s, rows, lanes_from(o - last));
    }
    if (grad_bias) add_rows(grad_bias, grad_out, s, rows);
  }
}

}  // namespace
}  // namespace ronde::inline v0
