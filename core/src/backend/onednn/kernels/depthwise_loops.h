/// Convolutions of each channel by filters of its own: one image, vectorised over channels.
///
/// A block of channels goes through the image tap by tap: a filter's value stays in registers while it goes
/// along the lines of the result that it reaches, and the block's part of the image stays in the first level
/// cache.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kDepthwiseVectors = 4;  // of a block; so many sums hide the latency of a multiply-add

// Calls f(first pixel of the result, first pixel of x, pixels) for the part of each line of the result for
// which `tap` lies inside x; from one pixel to the next x moves on by stride_w.
template <class F>
inline void for_each_line(const DepthwiseShape& s, std::int64_t tap, F f) {
  const std::int64_t dy = tap / s.kw * s.dilation_h - s.top, dx = tap % s.kw * s.dilation_w - s.left;
  const std::int64_t begin = dx < 0 ? (s.stride_w - 1 - dx) / s.stride_w : 0;
  const std::int64_t inside = dx < s.w ? (s.w - 1 - dx) / s.stride_w + 1 : 0,
                     end = inside < s.ow ? inside : s.ow;
  if (begin >= end) return;
  for (std::int64_t oy = 0; oy < s.oh; ++oy) {
    const std::int64_t y = oy * s.stride_h + dy;
    if (y >= 0 && y < s.h) f(oy * s.ow + begin, y * s.w + begin * s.stride_w + dx, end - begin);
  }
}

template <int n>
struct Vectors {
  static constexpr int count = n;
};

// Calls f(Vectors<n>, first channel, lanes that no block before had) for blocks of channels; there is a
// vector of them.
template <class F>
inline void for_channel_blocks(std::int64_t c, F f) {
  constexpr std::int64_t kBlock = kDepthwiseVectors * kLanes;
  std::int64_t k = 0;
  for (; k + kBlock <= c; k += kBlock) f(Vectors<kDepthwiseVectors>{}, k, ~IntVector{});
  for (; k + kLanes <= c; k += kLanes) f(Vectors<1>{}, k, ~IntVector{});
  if (k < c) f(Vectors<1>{}, c - kLanes, lanes_from(k - (c - kLanes)));
}

template <int n>
inline void zero_channels(float* x, std::int64_t pixels, std::int64_t c) {
  for (std::int64_t i = 0; i < pixels; ++i, x += c)
    for (int v = 0; v < n; ++v) store(x + v * kLanes, Vector{});
}

// to += from * weight for pixels that lie `to_step` and `from_step` elements apart.
template <int n>
inline void add_tap(float* to, std::int64_t to_step, const float* from, std::int64_t from_step,
                    const float* weight, std::int64_t pixels) {
  Vector factors[n];
  for (int v = 0; v < n; ++v) factors[v] = load(weight + v * kLanes);
  for (std::int64_t i = 0; i < pixels; ++i, to += to_step, from += from_step)
    for (int v = 0; v < n; ++v)
      store(to + v * kLanes, load(to + v * kLanes) + load(from + v * kLanes) * factors[v]);
}

void depthwise_conv(float* out, const float* x, const float* weight, const DepthwiseShape& s) {
  for_channel_blocks(s.c, [&](auto vectors, std::int64_t k, IntVector) {
    constexpr int n = decltype(vectors)::count;
    zero_channels<n>(out + k, s.oh * s.ow, s.c);
    for (std::int64_t tap = 0; tap < s.kh * s.kw; ++tap)
      for_each_line(s, tap, [&](std::int64_t to, std::int64_t from, std::int64_t pixels) {
        add_tap<n>(out + to * s.c + k, s.c, x + from * s.c + k, s.stride_w * s.c, weight + tap * s.c + k,
                   pixels);
      });
  });
}

void depthwise_backward_input(float* grad_x, const float* grad_out, const float* weight,
                              const DepthwiseShape& s) {
  for_channel_blocks(s.c, [&](auto vectors, std::int64_t k, IntVector) {
    constexpr int n = decltype(vectors)::count;
    zero_channels<n>(grad_x + k, s.h * s.w, s.c);
    for (std::int64_t tap = 0; tap < s.kh * s.kw; ++tap)
      for_each_line(s, tap, [&](std::int64_t from, std::int64_t to, std::int64_t pixels) {
        add_tap<n>(grad_x + to * s.c + k, s.stride_w * s.c, grad_out + from * s.c + k, s.c,
                   weight + tap * s.c + k, pixels);
      });
  });
}

void depthwise_backward_weight(float* grad_weight, const float* grad_out, const float* x,
                               const DepthwiseShape& s) {
  for_channel_blocks(s.c, [&](auto vectors, std::int64_t k, IntVector fresh) {
    constexpr int n = decltype(vectors)::count;
    for (std::int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
      Vector sums[n] = {};
      for_each_line(s, tap, [&](std::int64_t to, std::int64_t from, std::int64_t pixels) {
        const float *g = grad_out + to * s.c + k, *at = x + from * s.c + k;
        for (std::int64_t i = 0; i < pixels; ++i, g += s.c, at += s.stride_w * s.c)
          for (int v = 0; v < n; ++v) sums[v] += load(g + v * kLanes) * load(at + v * kLanes);
      });
      float* total = grad_weight + tap * s.c + k;
      for (int v = 0; v < n; ++v)
        store(total + v * kLanes, load(total + v * kLanes) + masked(fresh, sums[v]));
    }
  });
}

}  // namespace
}  // namespace ronde::inline v0
