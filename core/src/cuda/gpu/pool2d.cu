// Pooling of NHWC images. A thread makes neighbouring channels of one pixel; backward passes gather, so that
// nothing is added in an order that varies.
#include <algorithm>
#include <limits>

#include "cuda/gpu/column_sums.cuh"
#include "cuda/gpu/divisor.cuh"
#include "cuda/gpu/dropping.cuh"
#include "cuda/gpu/row_grid.cuh"

namespace ronde::inline v0::cuda {

namespace {

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

Pooling pooling_of(const Operand& image, const Operand& pooled, const Pool2dParams& p) {
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

/// Maxima of a window's channels; their places go to argmax.
template <int N, class T, class Place2d>
__device__ Pack<Arithmetic<T>, N> maxima(const Pooling& p, const Pixel& at, Place2d* argmax, const T* x) {
  const Window window(p, at.y, at.x);
  Pack<Arithmetic<T>, N> best{};
  Pack<Place2d, N> places;
  for (int k = 0; k < N; ++k) places.at[k] = static_cast<Place2d>(-1);
  bool is_first = true;
  for (int y = window.top; y < window.bottom; ++y)
    for (int col = window.left; col < window.right; ++col) {
      const Pack<T, N> values = load_pack<N>(x + p.in_image(at.n, y, col, at.channel));
      const auto place = static_cast<Place2d>((y - window.y0) * p.kw + col - window.x0);
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const Arithmetic<T> value = wide(values.at[k]), b = best.at[k];
        // The first maximum wins, and the first NaN.
        if (!is_first && !(value > b || (value != value && b == b))) continue;
        best.at[k] = value;
        places.at[k] = place;
      }
      is_first = false;
    }
  store_pack<N>(argmax + p.in_result(at.n, at.y, at.x, at.channel), places);
  return best;
}

template <int N, class T>
__device__ void store_rounded(T* to, const Pack<Arithmetic<T>, N>& values) {
  Pack<T, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.at[k] = rounded<T>(values.at[k]);
  store_pack<N>(to, result);
}

template <int N, class T, class Place2d>
__global__ void max_pool_kernel(Pooling p, T* out, Place2d* argmax, const T* x) {
  begin_kernel();
  for_each_pixel<N>(p, p.oh, p.ow, [&](const Pixel& at) {
    store_rounded(out + p.in_result(at.n, at.y, at.x, at.channel), maxima<N>(p, at, argmax, x));
  });
}

template <int N, class T, class Place2d>
__global__ void max_pool_dropout_kernel(Pooling p, Dropping<Arithmetic<T>> dropping, T* out, Place2d* argmax,
                                        const T* x) {
  begin_kernel();
  for_each_pixel<N>(p, p.oh, p.ow, [&](const Pixel& at) {
    Arithmetic<T> factors[N];
    draw_factors<N>(dropping, at.n, p.in_result(0, at.y, at.x, at.channel), factors);
    Pack<Arithmetic<T>, N> values = maxima<N>(p, at, argmax, x);
#pragma unroll
    for (int k = 0; k < N; ++k) values.at[k] = dropped(values.at[k], factors[k]);
    store_rounded(out + p.in_result(at.n, at.y, at.x, at.channel), values);
  });
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

/// What the gradients of a window's maxima are made of.
template <int N, class T, class Place2d>
struct Maxima {
  Packed<T, N> grads, results;
  Packed<Place2d, N> places;
};

/// The gradients of maxima: through a relu and a dropout too, where their result is given.
template <class T>
struct PooledGradient {
  const T* grad_out;
  const T* result;
  Arithmetic<T> scale;

  template <int N, class Place2d>
  __device__ Maxima<N, T, Place2d> load(Index i, const Place2d* argmax) const {
    return {Packed<T, N>::load(grad_out + i), result ? Packed<T, N>::load(result + i) : Packed<T, N>{},
            Packed<Place2d, N>::load(argmax + i)};
  }
  template <int N, class Place2d>
  __device__ Pack<Arithmetic<T>, N> operator()(const Maxima<N, T, Place2d>& maxima) const {
    const Pack<T, N> grads = maxima.grads.unpacked(), results = maxima.results.unpacked();
    Pack<Arithmetic<T>, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      values.at[k] = wide(grads.at[k]);
      if (result) values.at[k] = wide(results.at[k]) > 0 ? values.at[k] * scale : 0;
    }
    return values;
  }
};

/// Gradients of a pixel's channels.
template <int N, class T, class Place2d>
__device__ Pack<Arithmetic<T>, N> gradients_of_maxima(const Pooling& p, const Pixel& at,
                                                      const PooledGradient<T>& grad, const Place2d* argmax) {
  Pack<Arithmetic<T>, N> totals{};
  for_each_window(p, at, [&](int oy, int ox) {
    const Index i = p.in_result(at.n, oy, ox, at.channel);
    const int mine = (at.y + p.top - oy * p.stride_h) * p.kw + at.x + p.left - ox * p.stride_w;
    const Maxima<N, T, Place2d> maxima = grad.template load<N>(i, argmax);
    const Pack<Arithmetic<T>, N> grads = grad(maxima);
    const Pack<Place2d, N> places = maxima.places.unpacked();
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (static_cast<int>(places.at[k]) == mine) totals.at[k] += grads.at[k];
  });
  return totals;
}

template <int N, class T, class Place2d>
__global__ void max_pool_backward_kernel(Pooling p, T* grad_x, PooledGradient<T> grad,
                                         const Place2d* argmax) {
  begin_kernel();
  for_each_pixel<N>(p, p.h, p.w, [&](const Pixel& at) {
    store_rounded(grad_x + p.in_image(at.n, at.y, at.x, at.channel),
                  gradients_of_maxima<N>(p, at, grad, argmax));
  });
}

/// And their sums over all pixels, by pieces: the gradient of a bias.
template <int N, class T, class Place2d>
__global__ void max_pool_backward_sums_kernel(Pooling p, T* grad_x, double* partial, PooledGradient<T> grad,
                                              const Place2d* argmax) {
  begin_kernel();
  const auto channel = static_cast<int>(first_channel<N>());
  const Piece piece(static_cast<Index>(p.n) * p.h * p.w);
  double totals[N] = {};
  sum_rows(piece.begin, piece.end, totals, [&](Index row, double(&sum)[N]) {
    if (channel >= p.c) return;
    const int y = static_cast<int>(row) / p.w;
    const Pixel at{y / p.h, y % p.h, static_cast<int>(row) % p.w, channel};
    const Pack<Arithmetic<T>, N> grads = gradients_of_maxima<N>(p, at, grad, argmax);
#pragma unroll
    for (int k = 0; k < N; ++k) sum[k] += static_cast<double>(grads.at[k]);
    store_rounded(grad_x + row * p.c + channel, grads);
  });
  store_piece<N>(totals, partial, channel, p.c);
}

/// Windows that lie apart: a pixel is in one at most. Each has a cell of the image, from its corner to the
/// next ones'; some cells have none.
struct Cells {
  int h, w;
  Divisor by_h, by_w;

  static bool has(const Pooling& p) { return p.kh <= p.stride_h && p.kw <= p.stride_w; }
  explicit Cells(const Pooling& p)
      : h((p.h + p.top + p.stride_h - 1) / p.stride_h),
        w((p.w + p.left + p.stride_w - 1) / p.stride_w),
        by_h(larger(h, 1)),
        by_w(larger(w, 1)) {}

  __device__ Pixel at(int i, int channel) const {
    const int row = by_w.quotient(i), n = by_h.quotient(row);
    return {n, row - n * h, i - row * w, channel};
  }
};

__device__ inline bool has_window(const Pooling& p, const Pixel& cell) {
  if (cell.y >= p.oh || cell.x >= p.ow) return false;
  const Window window(p, cell.y, cell.x);
  return window.bottom > window.top && window.right > window.left;
}

template <int N, class T, class Place2d>
__device__ Maxima<N, T, Place2d> load_cell(const Pooling& p, const Pixel& cell, const PooledGradient<T>& grad,
                                           const Place2d* argmax) {
  if (!has_window(p, cell)) return {};
  return grad.template load<N>(p.in_result(cell.n, cell.y, cell.x, cell.channel), argmax);
}

/// Writes all of a cell's pixels. Of a cell without a window the gradients are 0, and so are the places.
template <int N, class T, class Place2d>
__device__ void fill_cell(const Pooling& p, const Pixel& cell, T* grad_x, const Pack<Arithmetic<T>, N>& grads,
                          const Pack<Place2d, N>& places) {
  const int top = cell.y * p.stride_h - p.top, left = cell.x * p.stride_w - p.left;
  const int bottom = smaller(top + p.stride_h, p.h), right = smaller(left + p.stride_w, p.w);
  const int first_y = larger(top, 0), first_x = larger(left, 0);
  T* row = grad_x + p.in_image(cell.n, first_y, first_x, cell.channel);
#pragma unroll 1
  for (int y = first_y - top; y < bottom - top; ++y, row += p.w * p.c) {
    T* pixel = row;
#pragma unroll 1
    for (int x = first_x - left; x < right - left; ++x, pixel += p.c) {
      const int mine = y < p.kh && x < p.kw ? y * p.kw + x : -1;
      Pack<Arithmetic<T>, N> values;
#pragma unroll
      for (int k = 0; k < N; ++k) values.at[k] = static_cast<int>(places.at[k]) == mine ? grads.at[k] : 0;
      store_rounded(pixel, values);
    }
  }
}

template <int N, class T, class Place2d>
__global__ void max_pool_backward_cells_kernel(Pooling p, Cells cells, T* grad_x, PooledGradient<T> grad,
                                               const Place2d* argmax) {
  begin_kernel();
  for_each_pixel<N>(p, cells.h, cells.w, [&](const Pixel& cell) {
    const Maxima<N, T, Place2d> maxima = load_cell<N>(p, cell, grad, argmax);
    fill_cell<N>(p, cell, grad_x, grad(maxima), maxima.places.unpacked());
  });
}

template <class Place2d>
constexpr int kCellsAtOnce = sizeof(Place2d) == 1 ? 2 : 1;  ///< of a thread, which has registers for them

/// And their sums over all windows, by pieces.
template <int N, class T, class Place2d>
__global__ void __launch_bounds__(kThreads, blocks_at_once(3))
    max_pool_backward_cells_sums_kernel(Pooling p, Cells cells, int of_piece, T* grad_x, double* partial,
                                        PooledGradient<T> grad, const Place2d* argmax) {
  begin_kernel();
  const auto channel = static_cast<int>(first_channel<N>());
  const int count = p.n * cells.h * cells.w, begin = static_cast<int>(blockIdx.y) * of_piece;
  const int end = channel < p.c ? smaller(begin + of_piece, count) : begin;
  double totals[N];
  sum_rows_read_ahead<kCellsAtOnce<Place2d>, Arithmetic<T>>(
      begin, end, totals,
      [&](Index i) { return load_cell<N>(p, cells.at(static_cast<int>(i), channel), grad, argmax); },
      [&](Index i, const Maxima<N, T, Place2d>& maxima, Arithmetic<T>(&sums)[N]) {
        const Pack<Arithmetic<T>, N> grads = grad(maxima);
#pragma unroll
        for (int k = 0; k < N; ++k) sums[k] += grads.at[k];
        fill_cell<N>(p, cells.at(static_cast<int>(i), channel), grad_x, grads, maxima.places.unpacked());
      });
  store_piece<N>(totals, partial, channel, p.c);
}

template <int N, class T>
__global__ void average_pool_kernel(Pooling p, T* out, const T* x) {
  begin_kernel();
  for_each_pixel<N>(p, p.oh, p.ow, [&](const Pixel& at) {
    const Window window(p, at.y, at.x);
    double totals[N] = {};
    for (int y = window.top; y < window.bottom; ++y)
      for (int col = window.left; col < window.right; ++col) {
        const Pack<T, N> values = load_pack<N>(x + p.in_image(at.n, y, col, at.channel));
#pragma unroll
        for (int k = 0; k < N; ++k) totals[k] += wider(values.at[k]);
      }
    Pack<T, N> result;
#pragma unroll
    for (int k = 0; k < N; ++k) result.at[k] = rounded<T>(totals[k] / window.count());
    store_pack<N>(out + p.in_result(at.n, at.y, at.x, at.channel), result);
  });
}

template <int N, class T>
__global__ void average_pool_backward_kernel(Pooling p, T* grad_x, const T* grad_out) {
  begin_kernel();
  for_each_pixel<N>(p, p.h, p.w, [&](const Pixel& at) {
    Pack<Arithmetic<T>, N> totals{};
    for_each_window(p, at, [&](int oy, int ox) {
      const Pack<T, N> grads = load_pack<N>(grad_out + p.in_result(at.n, oy, ox, at.channel));
      const auto count = static_cast<Arithmetic<T>>(Window(p, oy, ox).count());
#pragma unroll
      for (int k = 0; k < N; ++k) totals.at[k] += wide(grads.at[k]) / count;
    });
    store_rounded(grad_x + p.in_image(at.n, at.y, at.x, at.channel), totals);
  });
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

template <class T>
void run_max_pool(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &argmax = call[1], &x = call[2], &keys = call[3];
  const Pooling p = pooling_of(x, out, call.attributes.pool);
  with_place(argmax.dtype, [&]<class I>(I) {
    const bool is_aligned = begin_packs(data<I>(argmax));
    with_packs<T>(is_aligned ? p.c : 1, data<T>(out), data<T>(x), nullptr, [&]<int kN>(Lanes<kN>) {
      if (keys.defined)
        launch_pixels<kN>(max_pool_dropout_kernel<kN, T, I>, p.oh, p.ow, stream, p,
                          Dropping<Arithmetic<T>>(call.attributes.dropout, keys), data<T>(out),
                          data<I>(argmax), data<T>(x));
      else
        launch_pixels<kN>(max_pool_kernel<kN, T, I>, p.oh, p.ow, stream, p, data<T>(out), data<I>(argmax),
                          data<T>(x));
    });
  });
}

/// Cells of a piece, of which there are no more than `most`: as many for each of a block's rows.
Index cells_of_piece(Index cells, Index most, Index rows) {
  return std::max<Index>(1, (cells + most * rows - 1) / (most * rows)) * rows;
}

/// Launches for all pixels of `grad_x`, or their cells, by pieces.
template <int N, class T, class Place2d>
void run_with_sums(const Call& call, const Place& place, const Pooling& p, const PooledGradient<T>& grad,
                   const Place2d* argmax) {
  constexpr Index kMost = Index{1} << 30;
  const Operand &grad_x = call[0], &bias = call[1], &partial = call[2];
  const Cells cells(p);
  const bool is_apart = Cells::has(p);
  const Index rows = static_cast<Index>(p.n) * (is_apart ? cells.h : p.h) * (is_apart ? cells.w : p.w);
  if (rows > kMost) throw GpuError("images have more pixels than a kernel counts");
  Index pieces = partial.shape[0];
  ColumnGrid grid = column_grid<N>(p.c, pieces);
  const cudaStream_t stream = native(place.stream);
  if (is_apart) {
    const Index of_piece = cells_of_piece(rows, pieces, grid.threads.y);
    pieces = std::max<Index>(1, (rows + of_piece - 1) / of_piece);
    grid.blocks.y = static_cast<unsigned>(pieces);
    launch(max_pool_backward_cells_sums_kernel<N, T, Place2d>, grid.blocks, grid.threads, stream, p, cells,
           static_cast<int>(of_piece), data<T>(grad_x), data<double>(partial), grad, argmax);
  } else {
    launch(max_pool_backward_sums_kernel<N, T, Place2d>, grid.blocks, grid.threads, stream, p,
           data<T>(grad_x), data<double>(partial), grad, argmax);
  }
  run_bias_sum(bias, pieces, partial.data, place);
}

template <int N, class T, class Place2d>
void run_without_sums(const Operand& grad_x, cudaStream_t stream, const Pooling& p,
                      const PooledGradient<T>& grad, const Place2d* argmax) {
  const Cells cells(p);
  if (Cells::has(p))
    launch_pixels<N>(max_pool_backward_cells_kernel<N, T, Place2d>, cells.h, cells.w, stream, p, cells,
                     data<T>(grad_x), grad, argmax);
  else
    launch_pixels<N>(max_pool_backward_kernel<N, T, Place2d>, p.h, p.w, stream, p, data<T>(grad_x), grad,
                     argmax);
}

template <class T>
void run_max_pool_backward(const Call& call, const Place& place) {
  const Operand &grad_x = call[0], &bias = call[1], &grad_out = call[3], &argmax = call[4], &result = call[5];
  const Pooling p = pooling_of(grad_x, grad_out, call.attributes.pool);
  const PooledGradient<T> grad{data<T>(grad_out), result.defined ? data<T>(result) : nullptr,
                               static_cast<Arithmetic<T>>(call.attributes.value)};
  with_place(argmax.dtype, [&]<class I>(I) {
    const bool is_aligned = begin_packs(data<I>(argmax));
    with_packs<T>(is_aligned ? p.c : 1, data<T>(grad_x), grad.grad_out, grad.result, [&]<int kN>(Lanes<kN>) {
      if (bias.defined)
        run_with_sums<kN>(call, place, p, grad, data<I>(argmax));
      else
        run_without_sums<kN>(grad_x, native(place.stream), p, grad, data<I>(argmax));
    });
  });
}

template <class T>
void run_average_pool(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &in = call[1];
  const bool is_backward = call.op == Op::average_pool2d_backward;
  const Pooling p = pooling_of(is_backward ? out : in, is_backward ? in : out, call.attributes.pool);
  with_packs<T>(p.c, data<T>(out), data<T>(in), nullptr, [&]<int kN>(Lanes<kN>) {
    const auto kernel = is_backward ? average_pool_backward_kernel<kN, T> : average_pool_kernel<kN, T>;
    launch_pixels<kN>(kernel, is_backward ? p.h : p.oh, is_backward ? p.w : p.ow, stream, p, data<T>(out),
                      data<T>(in));
  });
}

}  // namespace

void run_pooling(const Call& call, const Place& place) {
  // Of no pixels the sums are zeros.
  const bool has_bias = call.op == Op::max_pool2d_backward && call[1].defined && call[1].count() > 0;
  if (call[0].count() == 0 && !has_bias) return;
  const cudaStream_t stream = native(place.stream);
  with_real(call[0].dtype, [&]<class T>(T) {
    if (call.op == Op::max_pool2d)
      run_max_pool<T>(call, stream);
    else if (call.op == Op::max_pool2d_backward)
      run_max_pool_backward<T>(call, place);
    else
      run_average_pool<T>(call, stream);
  });
}

}  // namespace ronde::inline v0::cuda
