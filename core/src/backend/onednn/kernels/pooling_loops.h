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

// Calls `f(place in x, place in out)` for each window and vector.
template <class F>
inline void for_each_2x2(const PoolShape& s, F f) {
  for (std::int64_t oy = 0; oy < s.oh; ++oy)
    for (std::int64_t ox = 0; ox < s.ow; ++ox) {
      const std::int64_t from = (oy * s.stride_h * s.w + ox * s.stride_w) * s.c, to = (oy * s.ow + ox) * s.c;
      for (std::int64_t c = 0; c < s.c; c += kLanes) f(from + c, to + c);
    }
}

inline void max_pool_2x2(float* out, std::uint8_t* argmax, const float* x, const PoolShape& s) {
  const std::int64_t offsets[] = {0, s.c, s.w * s.c, (s.w + 1) * s.c};
  for_each_2x2(s, [&](std::int64_t from, std::int64_t to) {
    Maximum best(load(x + from));
#pragma GCC unroll 3
    for (std::int32_t k = 1; k < 4; ++k) best.take(load(x + from + offsets[k]), k);
    store(out + to, best.value);
    store_bytes(argmax + to, best.index);
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

inline void max_pool_2x2_backward(float* grad_x, const float* grad_out, const std::uint8_t* argmax,
                                  const PoolShape& s, const PassedOn& passed_on) {
  const std::int64_t offsets[] = {0, s.c, s.w * s.c, (s.w + 1) * s.c};
  for_each_2x2(s, [&](std::int64_t to, std::int64_t from) {
    const Vector g = passing(passed_on, grad_out, from);
    const IntVector winner = load_bytes(argmax + from);
#pragma GCC unroll 4
    for (std::int32_t k = 0; k < 4; ++k) store(grad_x + to + offsets[k], masked(winner == k, g));
  });
}

void max_pool(float* out, std::uint8_t* argmax, const float* x, const PoolShape& s) {
  if (are_whole_2x2(s)) return max_pool_2x2(out, argmax, x, s);
  for_each_window(s, [&](const PoolWindow& window, std::int64_t at) {
    std::int64_t c = 0;
    for (; c + kLanes <= s.c; c += kLanes) max_of_window(s, window, x + c, out + at + c, argmax + at + c);
    for (; c < s.c; ++c) max_of_window_1(s, window, x + c, out + at + c, argmax + at + c);
  });
}

void max_pool_backward(float* grad_x, const float* grad_out, const std::uint8_t* argmax, const PoolShape& s,
                       PassedOn passed_on) {
  const bool tiled = s.oh * s.stride_h == s.h && s.ow * s.stride_w == s.w && s.top == 0 && s.left == 0 &&
                     s.stride_h == s.window_h && s.stride_w == s.window_w;
  if (!tiled) zero(grad_x, s.h * s.w * s.c);  // what no window has; of windows that overlap gradients add up
  const bool apart = s.stride_h >= s.window_h && s.stride_w >= s.window_w;
  if (apart && are_whole_2x2(s)) return max_pool_2x2_backward(grad_x, grad_out, argmax, s, passed_on);
  for_each_window(s, [&](const PoolWindow& window, std::int64_t at) {
    std::int64_t c = 0;
    for (; c + kLanes <= s.c; c += kLanes) {
      const Vector g = passing(passed_on, grad_out, at + c);
      const IntVector winner = load_bytes(argmax + at + c);
      window.for_each(s, [&](std::int64_t pixel, std::int32_t index) {
        float* to = grad_x + pixel * s.c + c;
        store(to, (tiled ? Vector{} : load(to)) + masked(winner == index, g));
      });
    }
    for (; c < s.c; ++c) {
      const float g = passing_1(passed_on, grad_out, at + c);
      window.for_each(s, [&](std::int64_t pixel, std::int32_t index) {
        float& to = grad_x[pixel * s.c + c];
        to = (tiled ? 0.0f : to) + (argmax[at + c] == index ? g : 0.0f);
      });
    }
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
