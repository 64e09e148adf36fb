// Pooling of NHWC images, and the gradient of averages.
#include "cuda/gpu/dropping.cuh"
#include "cuda/gpu/pooling.cuh"

namespace ronde::inline v0::cuda {

namespace {

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
  if (call[0].count() == 0) return;
  const cudaStream_t stream = native(place.stream);
  with_real(call[0].dtype, [&]<class T>(T) {
    if (call.op == Op::max_pool2d)
      run_max_pool<T>(call, stream);
    else
      run_average_pool<T>(call, stream);
  });
}

}  // namespace ronde::inline v0::cuda
