// The gradient of max pooling, of a relu and a dropout around it, and of a bias before them.
#include <algorithm>

#include "cuda/gpu/column_sums.cuh"
#include "cuda/gpu/divisor.cuh"
#include "cuda/gpu/pooling.cuh"

namespace ronde::inline v0::cuda {

namespace {

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
  if (rows > kMost) refuse("images have more pixels than a kernel counts");
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
void run_backward(const Call& call, const Place& place) {
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

}  // namespace

void run_max_pool_backward(const Call& call, const Place& place) {
  // Of no pixels the sums are zeros.
  const bool has_sums = call[1].defined && call[1].count() > 0;
  if (call[0].count() == 0 && !has_sums) return;
  with_real(call[0].dtype, [&]<class T>(T) { run_backward<T>(call, place); });
}

}  // namespace ronde::inline v0::cuda
