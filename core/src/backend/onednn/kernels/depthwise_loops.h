/// Convolutions of each channel by filters of its own: one image, or lines of it, vectorised over channels.
///
/// A few pixels of a line are made together, all channels of them before the next ones: so what is read and
/// written lies side by side, and what the next line reads is asked for meanwhile.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kDepthwisePixels = 4;
// Of lines whose length that divides, as those of pictures of 224x224 (112, 56, ..., 7): as many sums as the
// registers leave room for beside a line of 7 taps. With fewer the multipliers would wait for their own
// results.
constexpr int kManyDepthwisePixels = kLanes >= 8 ? 7 : kDepthwisePixels;
constexpr int kWrittenAhead = 8;  // pixels

// What is read for a pixel outside of x.
alignas(64) constexpr float kOutside[kLanes] = {};

// The lines of the filter that lie inside of x for line `oy` of the result.
struct FilterLines {
  std::int64_t begin = 0, end, y;  // y: the line of x at the filter's first one

  FilterLines(const DepthwiseShape& s, std::int64_t oy) : end(s.kh), y(oy * s.stride_h - s.top) {
    while (begin < end && y + begin * s.dilation_h < 0) ++begin;
    while (begin < end && y + (end - 1) * s.dilation_h >= s.h) --end;
  }
  std::int64_t behind(const DepthwiseShape& s) const { return y + (s.kh - 1) * s.dilation_h + 1; }
};

// Pixels of x, (rows, columns), that only the next line of the result reads.
struct PixelsBelow {
  const float* x;
  std::int64_t rows, columns;

  PixelsBelow(const float* image, const DepthwiseShape& s, const FilterLines& lines, std::int64_t ox,
              std::int64_t pixels) {
    const std::int64_t top = lines.behind(s) < 0 ? 0 : lines.behind(s), left = ox * s.stride_w;
    x = image + (top * s.w + left) * s.c;
    rows = s.h - top < s.stride_h ? s.h - top : s.stride_h;
    columns = s.w - left < pixels * s.stride_w ? s.w - left : pixels * s.stride_w;
  }
  [[gnu::always_inline]] inline void fetch(const DepthwiseShape& s, std::int64_t k) const {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < columns; ++i)
        __builtin_prefetch(x + (row * s.w + i) * s.c + k, 0, kSecondLevel);
  }
};

// A line of x from column x0 on, which may lie outside.
template <bool inside>
struct LineOfX {
  const float* x;  // of column x0
  std::int64_t x0, w, c;

  [[gnu::always_inline]] inline Vector at(std::int64_t i) const {
    return load(inside || (x0 + i >= 0 && x0 + i < w) ? x + i * c : kOutside);
  }
};

// sums += x * weight of a line of kw taps without stride and dilation: each column is loaded once. Loops that
// the compiler left as they are would keep the sums in memory: a quarter of the speed.
template <int kw, int pixels, class Line>
[[gnu::always_inline]] inline void add_dense_line(Vector (&sums)[pixels], const Line& x,
                                                  const float* weight) {
  Vector factors[kw];
#pragma GCC unroll 8
  for (int kx = 0; kx < kw; ++kx) factors[kx] = load(weight + kx * x.c);
#pragma GCC unroll 16
  for (int i = 0; i < pixels + kw - 1; ++i) {
    const Vector column = x.at(i);
#pragma GCC unroll 8
    for (int kx = 0; kx < kw; ++kx)
      if (i - kx >= 0 && i - kx < pixels) sums[i - kx] += column * factors[kx];
  }
}

// kw: 3, 5 or 7, or 0 for filters of any width, with a stride or dilation.
template <int kw, int pixels, class Line>
[[gnu::always_inline]] inline void add_line(Vector (&sums)[pixels], const Line& x, const float* weight,
                                            const DepthwiseShape& s) {
  if constexpr (kw > 0) {
    add_dense_line<kw>(sums, x, weight);
  } else {
    for (std::int64_t kx = 0; kx < s.kw; ++kx) {
      const Vector factor = load(weight + kx * s.c);
      for (int p = 0; p < pixels; ++p) sums[p] += x.at(p * s.stride_w + kx * s.dilation_w) * factor;
    }
  }
}

// `pixels` pixels of a line from `ox` on.
template <int pixels, int kw, bool inside>
[[gnu::noinline]] void conv_pixels(float* out, const float* x, const float* weight, const float* bias,
                                   const DepthwiseShape& s, const FilterLines& lines, std::int64_t ox,
                                   Epilogue epilogue) {
  const std::int64_t c = s.c, x0 = ox * s.stride_w - s.left;
  const std::int64_t pitch = s.dilation_h * s.w * c, filter_pitch = s.kw * c;
  const PixelsBelow below(x, s, lines, ox, pixels);
  const float *first = x + ((lines.y + lines.begin * s.dilation_h) * s.w + x0) * c,
              *first_weight = weight + lines.begin * filter_pitch;
  out += ox * s.out_pixel;
  cover(
      c, [&](std::int64_t k) __attribute__((always_inline)) {
        Vector sums[pixels];
        for (int p = 0; p < pixels; ++p) sums[p] = bias ? load(bias + k) : Vector{};
        const float *line = first + k, *factors = first_weight + k;
        for (std::int64_t ky = lines.begin; ky < lines.end; ++ky, line += pitch, factors += filter_pitch)
          add_line<kw>(sums, LineOfX<inside>{line, x0, s.w, c}, factors, s);
        below.fetch(s, k);
        for (int p = 0; p < pixels; ++p) {
          float* to = out + p * s.out_pixel + k;
          __builtin_prefetch(to + kWrittenAhead * s.out_pixel, 1);
          store(to, epilogue == Epilogue::relu ? positive_part(sums[p]) : sums[p]);
        }
      });
}

template <int pixels, int kw>
void conv_line(float* out, const float* x, const float* weight, const float* bias, const DepthwiseShape& s,
               std::int64_t oy, Epilogue epilogue) {
  const FilterLines lines(s, oy);
  for (std::int64_t i = 0; i < s.ow; i += pixels) {
    const std::int64_t ox = i + pixels <= s.ow ? i : s.ow - pixels;  // the last ones may be there already
    const std::int64_t x0 = ox * s.stride_w - s.left,
                       last = x0 + (pixels - 1) * s.stride_w + (s.kw - 1) * s.dilation_w;
    if (x0 >= 0 && last < s.w)
      conv_pixels<pixels, kw, true>(out, x, weight, bias, s, lines, ox, epilogue);
    else
      conv_pixels<pixels, kw, false>(out, x, weight, bias, s, lines, ox, epilogue);
  }
}

void depthwise_conv(float* out, const float* x, const float* weight, const float* bias,
                    const DepthwiseShape& s, Epilogue epilogue) {
  const bool is_dense = s.stride_w == 1 && s.dilation_w == 1;
  const auto dense_line = [&]<int kw>() {
    return s.ow % kManyDepthwisePixels == 0 ? conv_line<kManyDepthwisePixels, kw>
                                            : conv_line<kDepthwisePixels, kw>;
  };
  const auto line = s.ow < kDepthwisePixels ? conv_line<1, 0>
                    : is_dense && s.kw == 3 ? dense_line.operator()<3>()
                    : is_dense && s.kw == 5 ? dense_line.operator()<5>()
                    : is_dense && s.kw == 7 ? dense_line.operator()<7>()
                                            : conv_line<kDepthwisePixels, 0>;
  for (std::int64_t oy = 0; oy < s.oh; ++oy) line(out + oy * s.out_line, x, weight, bias, s, oy, epilogue);
}

// --- the gradient of the filters

// The columns of a line of the result whose windows lie inside of x, for all taps.
struct InsideColumns {
  std::int64_t begin, end;

  explicit InsideColumns(const DepthwiseShape& s) {
    const std::int64_t last = s.w - 1 + s.left - (s.kw - 1) * s.dilation_w;
    begin = s.left <= 0 ? 0 : (s.left + s.stride_w - 1) / s.stride_w;
    if (begin > s.ow) begin = s.ow;
    end = last < 0 ? 0 : last / s.stride_w + 1;
    if (end > s.ow) end = s.ow;
    if (end < begin) end = begin;
  }
};

// sums of g * x over pixels [begin, end) of a line, for `kw` taps from `first_tap` on.
template <int kw, bool inside>
[[gnu::always_inline]] inline void add_products(Vector (&sums)[kw], const float* g, const float* x,
                                                const DepthwiseShape& s, std::int64_t first_tap,
                                                std::int64_t begin, std::int64_t end) {
  for (std::int64_t ox = begin; ox < end; ++ox) {
    const std::int64_t x0 = ox * s.stride_w - s.left + first_tap * s.dilation_w;
    const Vector grad = load(g + ox * s.c);
    const LineOfX<inside> line{x + x0 * s.c, x0, s.w, s.c};
    for (int kx = 0; kx < kw; ++kx) sums[kx] += grad * line.at(kx * s.dilation_w);
  }
}

// The taps of a line of the filter, kw at a time.
template <int kw>
[[gnu::noinline]] void add_weight_gradients(float* grad_weight, IntVector fresh, const float* g,
                                            const float* x, const DepthwiseShape& s,
                                            const InsideColumns& columns) {
  for (std::int64_t tap = 0; tap < s.kw; tap += kw) {
    Vector sums[kw] = {};
    add_products<kw, false>(sums, g, x, s, tap, 0, columns.begin);
    add_products<kw, true>(sums, g, x, s, tap, columns.begin, columns.end);
    add_products<kw, false>(sums, g, x, s, tap, columns.end, s.ow);
    for (int kx = 0; kx < kw; ++kx) {
      float* total = grad_weight + (tap + kx) * s.c;
      store(total, load(total) + masked(fresh, sums[kx]));
    }
  }
}

void depthwise_backward_weight(float* grad_weight, const float* grad_out, const float* x,
                               const DepthwiseShape& s) {
  const InsideColumns columns(s);
  const auto add = s.kw % 7 == 0   ? add_weight_gradients<7>
                   : s.kw % 5 == 0 ? add_weight_gradients<5>
                   : s.kw % 3 == 0 ? add_weight_gradients<3>
                                   : add_weight_gradients<1>;
  for (std::int64_t oy = 0; oy < s.oh; ++oy) {
    const FilterLines lines(s, oy);
    const PixelsBelow below(x, s, lines, 0, s.ow);
    const float* g = grad_out + oy * s.ow * s.c;
    cover_once(s.c, [&](std::int64_t k, IntVector fresh) {
      below.fetch(s, k);
      for (std::int64_t ox = s.ow; ox < 2 * s.ow; ++ox) __builtin_prefetch(g + ox * s.c + k, 0, kSecondLevel);
      for (std::int64_t ky = lines.begin; ky < lines.end; ++ky)
        add(grad_weight + ky * s.kw * s.c + k, fresh, g + k,
            x + (lines.y + ky * s.dilation_h) * s.w * s.c + k, s, columns);
    });
  }
}

}  // namespace
}  // namespace ronde::inline v0
