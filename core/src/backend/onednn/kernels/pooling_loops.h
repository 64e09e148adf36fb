/// Pooling of one image, vectorised over channels.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/maximum.h"
#include "backend/onednn/kernels/pool_window.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

template <class F>
inline void for_each_window(const PoolShape& s, F f) {
  for (std::int64_t oy = 0; oy < s.oh; ++oy)
    for (std::int64_t ox = 0; ox < s.ow; ++ox) f(PoolWindow(s, oy, ox), (oy * s.ow + ox) * s.c);
}

// The same for squares of `side` pixels, whose size the compiler then knows: half of the time. Those
// within the image are `whole(place in x, place in out)`, the others `cut(window, place in out)`.
template <int side, class Whole, class Cut>
inline void for_each_square(const PoolShape& s, Whole whole, Cut cut) {
  const WholeWindows rows(s.oh, s.stride_h, side, s.top, s.h), columns(s.ow, s.stride_w, side, s.left, s.w);
  for (std::int64_t oy = 0; oy < s.oh; ++oy)
    for (std::int64_t ox = 0; ox < s.ow; ++ox) {
      const std::int64_t at = (oy * s.ow + ox) * s.c;
      if (rows.has(oy) && columns.has(ox))
        whole(((oy * s.stride_h - s.top) * s.w + ox * s.stride_w - s.left) * s.c, at);
      else
        cut(PoolWindow(s, oy, ox), at);
    }
}
inline bool is_square(const PoolShape& s, std::int64_t side) {
  return s.window_h == side && s.window_w == side && s.c >= kLanes;
}
// Where the pixels of a square lie, from its first one. Numbers of its own: a store might change those of a
// shape.
template <int side>
struct SquarePixels {
  std::int64_t row, column;

  explicit SquarePixels(const PoolShape& s) : row(s.w * s.c), column(s.c) {}
  std::int64_t operator[](int k) const { return k / side * row + k % side * column; }
};

// The windows of a pooling go through an image in strides that no hardware foresees: for a batch that is not
// in the cache this pass costs 1 us an image of 147 KB and saves 6.
void fetch(const float* x, std::int64_t n) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  for (std::int64_t i = 0; i < n; i += kLine) asm volatile("" ::"r"(__builtin_bit_cast(std::int32_t, x[i])));
}

inline void zero(float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = 0;
}

// kLanes channels of one window: the first maximum wins, and a NaN beats everything but a NaN.
inline void max_of_window(const PoolShape& s, const PoolWindow& window, const float* x, float* out,
                          std::uint8_t* argmax) {
  Vector best{};
  IntVector best_index = IntVector{} - 1;
  window.for_each(s, [&](std::int64_t pixel, std::int32_t index) {
    const Vector v = load(x + pixel * s.c);
    const IntVector wins = (~(v <= best) & (best == best)) | (best_index < 0);
    best = select(wins, v, best);
    best_index = (wins & index) | (~wins & best_index);
  });
  store(out, best);
  store_bytes(argmax, best_index);
}

inline void max_of_window_1(const PoolShape& s, const PoolWindow& window, const float* x, float* out,
                            std::uint8_t* argmax) {
  float best = 0;
  std::int32_t best_index = -1;
  window.for_each(s, [&](std::int64_t pixel, std::int32_t index) {
    const float v = x[pixel * s.c];
    if (best_index >= 0 && (v <= best || best != best)) return;
    best = v;
    best_index = index;
  });
  *out = best;
  *argmax = static_cast<std::uint8_t>(best_index);
}

[[gnu::noinline]] void max_of_channels(const PoolShape& s, const PoolWindow& window, const float* x,
                                       float* out, std::uint8_t* argmax) {
  std::int64_t c = 0;
  for (; c + kLanes <= s.c; c += kLanes) max_of_window(s, window, x + c, out + c, argmax + c);
  for (; c < s.c; ++c) max_of_window_1(s, window, x + c, out + c, argmax + c);
}

template <int side>
inline void max_pool_squares(float* out, std::uint8_t* argmax, const float* x, const PoolShape& s) {
  const SquarePixels<side> pixels(s);
  const auto whole = [&](std::int64_t from, std::int64_t to) {
    cover(pixels.column, [&](std::int64_t c) {
      Maximum best(load(x + from + c));
#pragma GCC unroll 8
      for (std::int32_t k = 1; k < side * side; ++k) best.take(load(x + from + c + pixels[k]), k);
      store(out + to + c, best.value);
      store_bytes(argmax + to + c, best.index);
    });
  };
  for_each_square<side>(s, whole, [&](const PoolWindow& window, std::int64_t to) {
    max_of_channels(s, window, x, out + to, argmax + to);
  });
}

inline Vector passing(const PassedOn& passed_on, const float* grad_out, std::int64_t at) {
  const Vector g = load(grad_out + at);
  return passed_on.y ? masked(load(passed_on.y + at) > Vector{}, g * passed_on.scale) : g;
}
inline float passing_1(const PassedOn& passed_on, const float* grad_out, std::int64_t at) {
  if (!passed_on.y) return grad_out[at];
  return passed_on.y[at] > 0 ? grad_out[at] * passed_on.scale : 0.0f;
}

// Gradients of one window, added to those of windows that overlap it.
[[gnu::noinline]] void spread_over_window(const PoolShape& s, const PoolWindow& window, float* grad_x,
                                          const float* grad_out, const std::uint8_t* argmax, std::int64_t at,
                                          const PassedOn& passed_on) {
  std::int64_t c = 0;
  for (; c + kLanes <= s.c; c += kLanes) {
    const Vector g = passing(passed_on, grad_out, at + c);
    const IntVector winner = load_bytes(argmax + at + c);
    window.for_each(s, [&](std::int64_t pixel, std::int32_t index) {
      float* to = grad_x + pixel * s.c + c;
      store(to, load(to) + masked(winner == index, g));
    });
  }
  for (; c < s.c; ++c) {
    const float g = passing_1(passed_on, grad_out, at + c);
    window.for_each(s, [&](std::int64_t pixel, std::int32_t index) {
      grad_x[pixel * s.c + c] += argmax[at + c] == index ? g : 0.0f;
    });
  }
}

template <int side, bool overlapping>
inline void max_pool_squares_backward(float* grad_x, const float* grad_out, const std::uint8_t* argmax,
                                      const PoolShape& s, const PassedOn& passed_on) {
  const SquarePixels<side> pixels(s);
  // Of the lanes in `fresh`: those that the vector before had, too, are theirs already.
  const auto spread = [&](std::int64_t to, std::int64_t from, IntVector fresh) {
    const Vector g = passing(passed_on, grad_out, from);
    const IntVector winner = load_bytes(argmax + from);
#pragma GCC unroll 9
    for (std::int32_t k = 0; k < side * side; ++k) {
      float* pixel = grad_x + to + pixels[k];
      if constexpr (overlapping)
        store(pixel, load(pixel) + masked((winner == k) & fresh, g));
      else
        store(pixel, masked(winner == k, g));
    }
  };
  const auto whole = [&](std::int64_t to, std::int64_t from) {
    if constexpr (overlapping)
      cover_once(pixels.column, [&](std::int64_t c, IntVector fresh) { spread(to + c, from + c, fresh); });
    else
      cover(pixels.column, [&](std::int64_t c) { spread(to + c, from + c, IntVector{}); });
  };
  for_each_square<side>(s, whole, [&](const PoolWindow& window, std::int64_t from) {
    spread_over_window(s, window, grad_x, grad_out, argmax, from, passed_on);
  });
}

void max_pool(float* out, std::uint8_t* argmax, const float* x, const PoolShape& s) {
  if (is_square(s, 2)) return max_pool_squares<2>(out, argmax, x, s);
  if (is_square(s, 3)) return max_pool_squares<3>(out, argmax, x, s);
  for_each_window(s, [&](const PoolWindow& window, std::int64_t to) {
    max_of_channels(s, window, x, out + to, argmax + to);
  });
}

void max_pool_backward(float* grad_x, const float* grad_out, const std::uint8_t* argmax, const PoolShape& s,
                       PassedOn passed_on) {
  const bool overlapping = s.stride_h < s.window_h || s.stride_w < s.window_w;
  const bool apart_2x2 = is_square(s, 2) && !overlapping;
  const bool tiled = s.oh * s.stride_h == s.h && s.ow * s.stride_w == s.w && s.top == 0 && s.left == 0 &&
                     s.stride_h == s.window_h && s.stride_w == s.window_w;
  // What no window has; of windows that overlap gradients add up.
  if (!apart_2x2 || !tiled) zero(grad_x, s.h * s.w * s.c);
  if (apart_2x2) return max_pool_squares_backward<2, false>(grad_x, grad_out, argmax, s, passed_on);
  if (is_square(s, 3)) return max_pool_squares_backward<3, true>(grad_x, grad_out, argmax, s, passed_on);
  for_each_window(s, [&](const PoolWindow& window, std::int64_t from) {
    spread_over_window(s, window, grad_x, grad_out, argmax, from, passed_on);
  });
}

void average_pool(float* out, const float* x, const PoolShape& s) {
  for_each_window(s, [&](const PoolWindow& window, std::int64_t at) {
    float* to = out + at;
    zero(to, s.c);
    window.for_each(s, [&](std::int64_t pixel, std::int32_t) {
      const float* from = x + pixel * s.c;
      RONDE_INDEPENDENT_STEPS
      for (std::int64_t c = 0; c < s.c; ++c) to[c] += from[c];
    });
    for (std::int64_t c = 0; c < s.c; ++c) to[c] /= window.size();
  });
}

void average_pool_backward(float* grad_x, const float* grad_out, const PoolShape& s) {
  zero(grad_x, s.h * s.w * s.c);
  for_each_window(s, [&](const PoolWindow& window, std::int64_t at) {
    const float* from = grad_out + at;
    const float share = 1.0f / window.size();
    window.for_each(s, [&](std::int64_t pixel, std::int32_t) {
      float* to = grad_x + pixel * s.c;
      RONDE_INDEPENDENT_STEPS
      for (std::int64_t c = 0; c < s.c; ++c) to[c] += from[c] * share;
    });
  });
}

}  // namespace
}  // namespace ronde::inline v0
