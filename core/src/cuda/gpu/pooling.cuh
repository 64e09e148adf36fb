/// What kernels of pooling share. A thread makes neighbouring channels of one pixel; backward passes gather,
/// so that nothing is added in an order that varies.
#pragma once

#include "cuda/gpu/packs.cuh"
#include "cuda/gpu/row_grid.cuh"

namespace ronde::inline v0::cuda {

struct Pooling {
  int n, h, w, c, oh, ow;
  int kh, kw, stride_h, stride_w, top, left;

  /// Of a channel of the image, of a channel of the result.
  __device__ Index in_image(int image, int y, int x, int channel) const {
    return ((static_cast<Index>(image) * h + y) * w + x) * c + channel;
  }
  __device__ Index in_result(int image, int y, int x, int channel) const {
    return ((static_cast<Index>(image) * oh + y) * ow + x) * c + channel;
  }
};

inline Pooling pooling_of(const Operand& image, const Operand& pooled, const Pool2dParams& p) {
  const auto size = [](std::int64_t value) { return static_cast<int>(value); };
  return {size(image.shape[0]),  size(image.shape[1]),  size(image.shape[2]), size(image.shape[3]),
          size(pooled.shape[1]), size(pooled.shape[2]), size(p.window.h),     size(p.window.w),
          size(p.stride.h),      size(p.stride.w),      size(p.padding.top),  size(p.padding.left)};
}

/// The first of the channels of a pixel that a thread makes.
struct Pixel {
  int n, y, x, channel;
};

/// `f(pixel)` for all of h x w images, N channels each.
template <int N, class F>
__device__ void for_each_pixel(const Pooling& p, int h, int w, F&& f) {
  const int packs = p.c / N;
  for_each_in_rows(p.n * h, w * packs, [&](int row, int i) {
    f(Pixel{row / h, row % h, i / packs, i % packs * N});
  });
}

__host__ __device__ inline int larger(int a, int b) {
  return a > b ? a : b;
}
__device__ inline int smaller(int a, int b) {
  return a < b ? a : b;
}

/// The pixels of a window that are in the image, and its corner, which may not be.
struct Window {
  int y0, x0, top, left, bottom, right;

  __device__ Window(const Pooling& p, int oy, int ox)
      : y0(oy * p.stride_h - p.top),
        x0(ox * p.stride_w - p.left),
        top(larger(y0, 0)),
        left(larger(x0, 0)),
        bottom(smaller(y0 + p.kh, p.h)),
        right(smaller(x0 + p.kw, p.w)) {}

  __device__ int count() const { return (bottom - top) * (right - left); }
};

template <int N, class T>
__device__ void store_rounded(T* to, const Pack<Arithmetic<T>, N>& values) {
  Pack<T, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.at[k] = rounded<T>(values.at[k]);
  store_pack<N>(to, result);
}

/// The windows that hold row (or column) `at`: [first, last].
__device__ inline int first_window(int at, int before, int window, int stride) {
  const int padded = at + before - window + 1;
  return padded <= 0 ? 0 : (padded + stride - 1) / stride;
}
__device__ inline int last_window(int at, int before, int stride, int windows) {
  return smaller((at + before) / stride, windows - 1);
}

/// `f(oy, ox)` for the windows that hold a pixel.
template <class F>
__device__ void for_each_window(const Pooling& p, const Pixel& at, F&& f) {
  const int last_y = last_window(at.y, p.top, p.stride_h, p.oh);
  const int last_x = last_window(at.x, p.left, p.stride_w, p.ow);
  for (int oy = first_window(at.y, p.top, p.kh, p.stride_h); oy <= last_y; ++oy)
    for (int ox = first_window(at.x, p.left, p.kw, p.stride_w); ox <= last_x; ++ox) f(oy, ox);
}

template <class F>
void with_place(DType dtype, F&& f) {
  if (dtype == DType::u8)
    f(static_cast<unsigned char>(0));
  else
    f(0);
}

/// Launches for all pixels of n images h x w.
template <int N, class... Params, class... Args>
void launch_pixels(void (*kernel)(Pooling, Params...), int h, int w, cudaStream_t stream, const Pooling& p,
                   const Args&... args) {
  const RowGrid grid = row_grid(static_cast<Index>(p.n) * h, static_cast<Index>(w) * p.c / N);
  launch(kernel, grid.blocks, grid.threads, stream, p, args...);
}

}  // namespace ronde::inline v0::cuda
