/// What convolutions by small filters on few channels share, there and back. A block takes some filters and
/// all their taps at a pixel; what taps read is found once for the filters, in shared memory and without
/// bounds.
#pragma once

#include <cstdint>

#include "cuda/gpu/direct_conv2d.cuh"
#include "cuda/gpu/divisor.cuh"
#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

constexpr int kTapsAtOnce = 9, kMostTaps = 4 * kTapsAtOnce;
constexpr int kQuad = 4;  ///< neighbouring filters, and pixels, which a thread takes together
constexpr int kFilters = 32, kLanes = kFilters / kQuad, kStreams = kThreads / kLanes;  // of a block
constexpr int kPixels = kThreads, kGroups = kPixels / (kStreams * kQuad);              // of a block at a time

/// Where a tap reads, seen from a window's corner.
struct Tap {
  std::int16_t y, x;  // of windows and images below kMostSide
  int offset;
};
constexpr Index kMostSide = 1 << 14;
constexpr int kNowhere = -2 * kMostSide;  // outside of all images

/// Those from `first` on; the ones behind the last of `count` are nowhere.
template <int kTaps>
__device__ void find_taps(const Conv& p, int first, int count, Tap (&taps)[kTaps]) {
  const int me = static_cast<int>(threadIdx.x), i = first + me;
  if (me < kTaps) {
    const int c = static_cast<int>(p.c), kw = static_cast<int>(p.kw);
    const int y = i / (c * kw) * static_cast<int>(p.dilation_h),
              x = i / c % kw * static_cast<int>(p.dilation_w);
    taps[me] = {static_cast<std::int16_t>(me < count ? y : kNowhere), static_cast<std::int16_t>(x),
                (y * static_cast<int>(p.w) + x) * c + i % c};
  }
  __syncthreads();
}

/// The pixels of a result.
struct Pixels {
  int count;
  Divisor by_ow, by_oh;

  explicit Pixels(const Conv& p)
      : count(static_cast<int>(p.n * p.oh * p.ow)),
        by_ow(static_cast<int>(p.ow)),
        by_oh(static_cast<int>(p.oh)) {}
};

/// What each tap reads for each of a block's pixels.
template <int kTaps>
using Columns = Quad[kTaps][kPixels / kQuad];

/// For this thread's pixel, once for all filters: 0 beside the picture and where there is no such pixel.
template <int kTaps, class T>
__device__ void find_columns(const Conv& p, const Pixels& pixels, int pixel, const T* x,
                             const Tap (&taps)[kTaps], int count, Columns<kTaps>& columns) {
  const int h = static_cast<int>(p.h), w = static_cast<int>(p.w);
  const int row = pixels.by_ow.quotient(pixel), n = pixels.by_oh.quotient(row);
  int top = (row - n * static_cast<int>(p.oh)) * static_cast<int>(p.stride_h) - static_cast<int>(p.top);
  const int left =
      (pixel - row * static_cast<int>(p.ow)) * static_cast<int>(p.stride_w) - static_cast<int>(p.left);
  const T* corner = x + ((n * h + top) * w + left) * static_cast<int>(p.c);
  if (pixel >= pixels.count) top = kNowhere;
  const unsigned me = threadIdx.x;
#pragma unroll 1
  for (int first = 0; first < count; first += kTapsAtOnce) {
    float values[kTapsAtOnce];  // all reads come first, so that they are under way together
#pragma unroll
    for (int k = 0; k < kTapsAtOnce; ++k) {
      const Tap tap = taps[first + k];
      const bool is_inside = static_cast<unsigned>(top + tap.y) < static_cast<unsigned>(h) &&
                             static_cast<unsigned>(left + tap.x) < static_cast<unsigned>(w);
      values[k] = is_inside ? static_cast<float>(wide(corner[tap.offset])) : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kTapsAtOnce; ++k) columns[first + k][me / kQuad].at[me % kQuad] = values[k];
  }
}

/// What a thread makes: of a quad of filters, for kGroups quads of a block's pixels.
struct Share {
  int lane = static_cast<int>(threadIdx.x) % kLanes, stream = static_cast<int>(threadIdx.x) / kLanes;
  int filter;

  __device__ explicit Share(unsigned group_of_filters)
      : filter(static_cast<int>(group_of_filters) * kFilters + lane * kQuad) {}
  __device__ int quad(int group) const { return group * kStreams + stream; }
};

/// A pixel's elements for a quad of filters, N at once; those from `o` on are 0.
template <int N, class T>
__device__ Packed<T, kQuad> load_filters(const T* pixel, int filter, int o) {
  if constexpr (N == kQuad) {
    return filter < o ? Packed<T, kQuad>::load(pixel + filter) : Packed<T, kQuad>{};
  } else {
    Pack<T, kQuad> result{};
    for (int k = 0; k < kQuad; ++k)
      if (filter + k < o) result.at[k] = pixel[filter + k];
    return std::bit_cast<Packed<T, kQuad>>(result);
  }
}
template <int N, class T>
__device__ void store_filters(T* pixel, int filter, int o, const Pack<T, kQuad>& values) {
  if constexpr (N == kQuad) {
    if (filter < o) store_pack<kQuad>(pixel + filter, values);
  } else {
    for (int k = 0; k < kQuad; ++k)
      if (filter + k < o) pixel[filter + k] = values.at[k];
  }
}

inline int taps_of(const Operand& weight) {
  return static_cast<int>(weight.shape[1] * weight.shape[2] * weight.shape[3]);
}

inline unsigned groups_of_filters(Index o) {
  return static_cast<unsigned>((o + kFilters - 1) / kFilters);
}

/// Calls `f(Lanes<N>)`: for what a thread reads or writes at once of a pixel's o elements.
template <class T, class F>
void with_quads(Index o, const T* elements, F&& f) {
  if (o % kQuad == 0 && begin_packs(elements))
    f(Lanes<kQuad>{});
  else
    f(Lanes<1>{});
}

/// Sums go to `partial`, by pieces, and from there to the weight's gradient.
void run_few_taps_gradient(const Call& call, double* partial, const Place& place);

}  // namespace ronde::inline v0::cuda
