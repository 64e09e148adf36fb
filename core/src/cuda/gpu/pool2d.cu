// Pooling of NHWC images. A thread makes one element; backward passes gather, so that nothing is added in an
// order that varies.
#include "cuda/gpu/dropping.cuh"
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

struct Pooling {
  Index n, h, w, c, oh, ow;
  Index kh, kw, stride_h, stride_w, top, left;
};

Pooling pooling_of(const Operand& image, const Operand& pooled, const Pool2dParams& p) {
  return {image.shape[0], image.shape[1], image.shape[2], image.shape[3], pooled.shape[1], pooled.shape[2],
          p.window.h,     p.window.w,     p.stride.h,     p.stride.w,     p.padding.top,   p.padding.left};
}

/// The element i of (n, h, w, c).
struct Pixel {
  Index n, y, x, channel;
  __device__ Pixel(Index i, Index h, Index w, Index c) {
    channel = i % c;
    x = i / c % w;
    y = i / (c * w) % h;
    n = i / (c * w * h);
  }
};

__device__ inline Index larger(Index a, Index b) {
  return a > b ? a : b;
}
__device__ inline Index smaller(Index a, Index b) {
  return a < b ? a : b;
}

/// `f(y, x)` for the pixels of a window that are in the image; (y0, x0) is its corner, which may not be.
template <class F>
__device__ void for_each_pixel(const Pooling& p, Index y0, Index x0, F&& f) {
  for (Index y = larger(y0, 0); y < smaller(y0 + p.kh, p.h); ++y)
    for (Index x = larger(x0, 0); x < smaller(x0 + p.kw, p.w); ++x) f(y, x);
}

/// The maximum of window i; its place goes to argmax.
template <class T, class Place2d>
__device__ Arithmetic<T> pooled(const Pooling& p, Index i, Place2d* argmax, const T* x) {
  const Pixel at(i, p.oh, p.ow, p.c);
  const Index y0 = at.y * p.stride_h - p.top, x0 = at.x * p.stride_w - p.left;
  Arithmetic<T> best = 0;
  Index best_index = -1;
  for_each_pixel(p, y0, x0, [&](Index y, Index col) {
    const Arithmetic<T> value = wide(x[((at.n * p.h + y) * p.w + col) * p.c + at.channel]);
    // The first maximum wins, and the first NaN.
    if (best_index >= 0 && !(value > best || (value != value && best == best))) return;
    best = value;
    best_index = (y - y0) * p.kw + col - x0;
  });
  argmax[i] = static_cast<Place2d>(best_index);
  return best;
}

template <class T, class Place2d>
__global__ void max_pool_kernel(Pooling p, T* out, Place2d* argmax, const T* x) {
  for (Index i = first_element(); i < p.n * p.oh * p.ow * p.c; i += element_step())
    out[i] = rounded<T>(pooled(p, i, argmax, x));
}

template <class T, class Place2d>
__global__ void max_pool_dropout_kernel(Pooling p, Dropping<Arithmetic<T>> dropping, T* out, Place2d* argmax,
                                        const T* x) {
  for_each_drawn(p.n, p.oh * p.ow * p.c, dropping, [&](Index i, Arithmetic<T> factor) {
    out[i] = rounded<T>(dropped(pooled(p, i, argmax, x), factor));
  });
}

/// The windows that hold row (or column) `at`: [first, last].
__device__ inline Index first_window(Index at, Index before, Index window, Index stride) {
  const Index padded = at + before - window + 1;
  return padded <= 0 ? 0 : (padded + stride - 1) / stride;
}
__device__ inline Index last_window(Index at, Index before, Index stride, Index windows) {
  return smaller((at + before) / stride, windows - 1);
}

/// `f(oy, ox)` for the windows that hold a pixel.
template <class F>
__device__ void for_each_window(const Pooling& p, const Pixel& at, F&& f) {
  const Index last_y = last_window(at.y, p.top, p.stride_h, p.oh);
  const Index last_x = last_window(at.x, p.left, p.stride_w, p.ow);
  for (Index oy = first_window(at.y, p.top, p.kh, p.stride_h); oy <= last_y; ++oy)
    for (Index ox = first_window(at.x, p.left, p.kw, p.stride_w); ox <= last_x; ++ox) f(oy, ox);
}

/// The gradient of window `i`'s maximum: through a relu and a dropout too, where their result is given.
template <class T>
struct PooledGradient {
  const T* grad_out;
  const T* result;
  Arithmetic<T> scale;

  __device__ Arithmetic<T> operator()(Index i) const {
    const Arithmetic<T> grad = wide(grad_out[i]);
    if (!result) return grad;
    return wide(result[i]) > 0 ? grad * scale : 0;
  }
};

template <class T, class Place2d>
__global__ void max_pool_backward_kernel(Pooling p, T* grad_x, PooledGradient<T> grad,
                                         const Place2d* argmax) {
  for (Index i = first_element(); i < p.n * p.h * p.w * p.c; i += element_step()) {
    const Pixel at(i, p.h, p.w, p.c);
    Arithmetic<T> total = 0;
    for_each_window(p, at, [&](Index oy, Index ox) {
      const Index window = ((at.n * p.oh + oy) * p.ow + ox) * p.c + at.channel;
      const Index mine = (at.y + p.top - oy * p.stride_h) * p.kw + at.x + p.left - ox * p.stride_w;
      if (static_cast<Index>(argmax[window]) == mine) total += grad(window);
    });
    grad_x[i] = rounded<T>(total);
  }
}

/// Pixels of the window that are in the image.
__device__ inline Index size_of_window(const Pooling& p, Index oy, Index ox) {
  const Index y0 = oy * p.stride_h - p.top, x0 = ox * p.stride_w - p.left;
  return (smaller(y0 + p.kh, p.h) - larger(y0, 0)) * (smaller(x0 + p.kw, p.w) - larger(x0, 0));
}

template <class T>
__global__ void average_pool_kernel(Pooling p, T* out, const T* x) {
  for (Index i = first_element(); i < p.n * p.oh * p.ow * p.c; i += element_step()) {
    const Pixel at(i, p.oh, p.ow, p.c);
    const Index y0 = at.y * p.stride_h - p.top, x0 = at.x * p.stride_w - p.left;
    double total = 0;
    for_each_pixel(p, y0, x0, [&](Index y, Index col) {
      total += wider(x[((at.n * p.h + y) * p.w + col) * p.c + at.channel]);
    });
    out[i] = rounded<T>(total / static_cast<double>(size_of_window(p, at.y, at.x)));
  }
}

template <class T>
__global__ void average_pool_backward_kernel(Pooling p, T* grad_x, const T* grad_out) {
  for (Index i = first_element(); i < p.n * p.h * p.w * p.c; i += element_step()) {
    const Pixel at(i, p.h, p.w, p.c);
    Arithmetic<T> total = 0;
    for_each_window(p, at, [&](Index oy, Index ox) {
      total += wide(grad_out[((at.n * p.oh + oy) * p.ow + ox) * p.c + at.channel]) /
               static_cast<Arithmetic<T>>(size_of_window(p, oy, ox));
    });
    grad_x[i] = rounded<T>(total);
  }
}

template <class F>
void with_place(DType dtype, F&& f) {
  if (dtype == DType::u8)
    f(static_cast<unsigned char>(0));
  else
    f(0);
}

}  // namespace

void run_pooling(const Call& call, const Place& place) {
  const Operand& out = call[0];
  const bool is_backward = call.op == Op::max_pool2d_backward || call.op == Op::average_pool2d_backward;
  const Index count = out.count();
  if (count == 0) return;
  const unsigned blocks = blocks_for(count);
  const cudaStream_t stream = native(place.stream);
  const Pool2dParams& params = call.attributes.pool;
  const Operand& other = call.op == Op::max_pool2d ? call[2] : call[1];
  const Pooling p = is_backward ? pooling_of(out, other, params) : pooling_of(other, out, params);
  with_real(out.dtype, [&]<class T>(T) {
    if (call.op == Op::max_pool2d)
      with_place(call[1].dtype, [&]<class I>(I) {
        if (call[3].defined)
          launch(max_pool_dropout_kernel<T, I>, blocks_for(draws(p.n, count / p.n)), kThreads, stream, p,
                 Dropping<Arithmetic<T>>(call.attributes.dropout, call[3]), data<T>(out), data<I>(call[1]),
                 data<T>(other));
        else
          launch(max_pool_kernel<T, I>, blocks, kThreads, stream, p, data<T>(out), data<I>(call[1]),
                 data<T>(other));
      });
    else if (call.op == Op::max_pool2d_backward)
      with_place(call[2].dtype, [&]<class I>(I) {
        const PooledGradient<T> grad{data<T>(other), call[3].defined ? data<T>(call[3]) : nullptr,
                                     static_cast<Arithmetic<T>>(call.attributes.value)};
        launch(max_pool_backward_kernel<T, I>, blocks, kThreads, stream, p, data<T>(out), grad,
               data<I>(call[2]));
      });
    else if (call.op == Op::average_pool2d)
      launch(average_pool_kernel<T>, blocks, kThreads, stream, p, data<T>(out), data<T>(other));
    else
      launch(average_pool_backward_kernel<T>, blocks, kThreads, stream, p, data<T>(out), data<T>(other));
  });
}

}  // namespace ronde::inline v0::cuda
