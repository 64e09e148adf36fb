// fill, copy, unary and binary functions and their gradients. One kernel a family: which function it is, is
// the same for all threads. What the nets do in each step, on dense tensors, goes by packs.
#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

namespace {

// --- fill and copy: any dtype, through the widest type of its kind

struct Wide {
  double real = 0;
  Index whole = 0;
};

__device__ Wide load(const void* data, Index i, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {static_cast<const float*>(data)[i], 0};
    case DType::f64:
      return {static_cast<const double*>(data)[i], 0};
    case DType::bf16:
      return {__bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]), 0};
    case DType::u8:
      return {0, static_cast<const unsigned char*>(data)[i]};
    case DType::i32:
      return {0, static_cast<const int*>(data)[i]};
    case DType::i64:
      break;
  }
  return {0, static_cast<const Index*>(data)[i]};
}

__host__ __device__ constexpr bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16;
}

// Truncates; what does not fit becomes the nearest limit, NaN becomes 0.
__device__ Index truncated(double value, double low, double high) {
  if (value != value) return 0;
  return static_cast<Index>(value < low ? low : (value > high ? high : value));
}

__device__ void store(void* data, Index i, DType dtype, Wide value, bool from_real) {
  const double real = from_real ? value.real : static_cast<double>(value.whole);
  switch (dtype) {
    case DType::f32:
      static_cast<float*>(data)[i] =
          from_real ? static_cast<float>(value.real) : static_cast<float>(value.whole);
      return;
    case DType::f64:
      static_cast<double*>(data)[i] = real;
      return;
    case DType::bf16:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(static_cast<float>(real));
      return;
    case DType::u8:
      static_cast<unsigned char*>(data)[i] =
          static_cast<unsigned char>(from_real ? truncated(real, 0, 255) : value.whole);
      return;
    case DType::i32:
      static_cast<int*>(data)[i] =
          static_cast<int>(from_real ? truncated(real, -2147483648.0, 2147483647.0) : value.whole);
      return;
    case DType::i64:
      break;
  }
  // 2^63 itself does not fit: saturating conversion gives the largest number.
  static_cast<Index*>(data)[i] = from_real ? (real != real ? 0 : __double2ll_rz(real)) : value.whole;
}

__global__ void copy_kernel(Elements<2> all, void* out, DType to, const void* x, DType from) {
  begin_kernel();
  for (Index i = first_element(); i < all.count; i += element_step()) {
    Index at[2];
    all.locate(i, at);
    store(out, at[0], to, load(x, at[1], from), is_real(from));
  }
}

__global__ void fill_kernel(Elements<1> all, void* out, DType dtype, double value) {
  begin_kernel();
  for (Index i = first_element(); i < all.count; i += element_step()) {
    Index at[1];
    all.locate(i, at);
    store(out, at[0], dtype, {value, 0}, true);
  }
}

// --- functions; comparisons are written so that a NaN stays a NaN

template <class T>
__device__ T logistic(T x) {
  const T e = exp(x >= 0 ? -x : x);  // never overflows
  return (x >= 0 ? T(1) : e) / (1 + e);
}
template <class T>
__device__ T normal_cdf(T x) {
  return T(0.5) * erfc(-x * T(0.70710678118654752440));
}
template <class T>
__device__ T normal_density(T x) {
  return T(0.39894228040143267794) * exp(T(-0.5) * x * x);
}

// By half turns, whose reduction of large angles needs no local memory; in double, so that floats lose
// nothing.
constexpr double kHalfTurns = 0.31830988618379067154;  // of a radian
template <class T>
__device__ T sine(T x) {
  return T(sinpi(double(x) * kHalfTurns));
}
template <class T>
__device__ T cosine(T x) {
  return T(cospi(double(x) * kHalfTurns));
}

template <class T>
struct Function {
  UnaryOp op;
  T alpha, beta;

  __device__ T operator()(T x) const {
    switch (op) {
      case UnaryOp::affine:
        return alpha * x + beta;
      case UnaryOp::relu:
        return x <= 0 ? T(0) : x;
      case UnaryOp::leaky_relu:
        return x <= 0 ? alpha * x : x;
      case UnaryOp::elu:
        return x <= 0 ? alpha * expm1(x) : x;
      case UnaryOp::gelu:
        return x * normal_cdf(x);
      case UnaryOp::silu:
        return x * logistic(x);
      case UnaryOp::sigmoid:
        return logistic(x);
      case UnaryOp::tanh:
        return tanh(x);
      case UnaryOp::exp:
        return exp(x);
      case UnaryOp::log:
        return log(x);
      case UnaryOp::sqrt:
        return sqrt(x);
      case UnaryOp::square:
        return x * x;
      case UnaryOp::abs:
        return abs(x);
      case UnaryOp::power:
        return pow(x, alpha);
      case UnaryOp::softplus:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
      case UnaryOp::sin:
        return sine(x);
      case UnaryOp::cos:
        return cosine(x);
      case UnaryOp::clipped_relu:
        return x <= 0 ? T(0) : (x > alpha ? alpha : x);
      case UnaryOp::clamp:
        break;
    }
    return x < alpha ? alpha : (x > beta ? beta : x);
  }

  /// At x, where y is the function's value.
  __device__ T derivative(T x, T y) const {
    switch (op) {
      case UnaryOp::affine:
        return alpha;
      case UnaryOp::relu:
        return y > 0 ? T(1) : T(0);
      case UnaryOp::leaky_relu:
        return x > 0 ? T(1) : alpha;
      case UnaryOp::elu:
        return x > 0 ? T(1) : alpha * exp(x);
      case UnaryOp::gelu:
        return normal_cdf(x) + x * normal_density(x);
      case UnaryOp::silu: {
        const T s = logistic(x);
        return s * (1 + x * (1 - s));
      }
      case UnaryOp::sigmoid:
        return y * (1 - y);
      case UnaryOp::tanh:
        return 1 - y * y;
      case UnaryOp::exp:
        return y;
      case UnaryOp::log:
        return 1 / x;
      case UnaryOp::sqrt:
        return T(0.5) / y;
      case UnaryOp::square:
        return 2 * x;
      case UnaryOp::abs:
        return x > 0 ? T(1) : (x < 0 ? T(-1) : T(0));
      case UnaryOp::power:
        return alpha == 0 ? T(0) : alpha * pow(x, alpha - 1);
      case UnaryOp::softplus:
        return logistic(x);
      case UnaryOp::sin:
        return cosine(x);
      case UnaryOp::cos:
        return -sine(x);
      case UnaryOp::clipped_relu:
        return y > 0 && y < alpha ? T(1) : T(0);
      case UnaryOp::clamp:
        break;
    }
    return x < alpha || x > beta ? T(0) : T(1);
  }
};

/// A function that is known when it is compiled, and its gradient where that is made of y.
template <class T, UnaryOp kOp>
struct Known {
  T alpha, beta;

  __device__ T operator()(T x) const { return Function<T>{kOp, alpha, beta}(x); }
  __device__ T operator()(T grad_y, T y) const {
    return grad_y * Function<T>{kOp, alpha, beta}.derivative(y, y);
  }
};

struct AsItIs {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

template <class T>
__global__ void unary_kernel(Elements<2> all, T* out, const T* x, Function<Arithmetic<T>> f) {
  begin_kernel();
  for (Index i = first_element(); i < all.count; i += element_step()) {
    Index at[2];
    all.locate(i, at);
    out[at[0]] = rounded<T>(f(wide(x[at[1]])));
  }
}

template <class T>
__global__ void unary_backward_kernel(Elements<4> all, T* grad_x, const T* grad_y, const T* x, const T* y,
                                      Function<Arithmetic<T>> f) {
  begin_kernel();
  for (Index i = first_element(); i < all.count; i += element_step()) {
    Index at[4];
    all.locate(i, at);
    grad_x[at[0]] = rounded<T>(wide(grad_y[at[1]]) * f.derivative(wide(x[at[2]]), wide(y[at[3]])));
  }
}

template <class T>
__device__ T combine(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::subtract:
      return a - b;
    case BinaryOp::multiply:
      return a * b;
    case BinaryOp::divide:
      return a / b;
    case BinaryOp::maximum:
      return a > b || a != a ? a : b;
    case BinaryOp::minimum:
      return a < b || a != a ? a : b;
    case BinaryOp::equal:
      return a == b ? T(1) : T(0);
    case BinaryOp::greater:
      return a > b ? T(1) : T(0);
    case BinaryOp::add_relu:
      break;
  }
  return a + b <= 0 ? T(0) : a + b;
}

template <class T>
struct Combine {
  BinaryOp op;
  __device__ T operator()(T a, T b) const { return combine(op, a, b); }
};

template <class T>
struct AddScaled {
  T alpha;
  __device__ T operator()(T x, T y) const { return x + alpha * y; }
};

template <class T>
__global__ void binary_kernel(Elements<3> all, T* out, const T* a, const T* b, Combine<Arithmetic<T>> f) {
  begin_kernel();
  for (Index i = first_element(); i < all.count; i += element_step()) {
    Index at[3];
    all.locate(i, at);
    out[at[0]] = rounded<T>(f(wide(a[at[1]]), wide(b[at[2]])));
  }
}

template <class T, class Y>
__global__ void accumulate_kernel(Elements<2> all, T* x, const Y* y, AddScaled<Arithmetic<T>> f,
                                  const double* gate) {
  begin_kernel();
  if (!is_open(gate)) return;
  for (Index i = first_element(); i < all.count; i += element_step()) {
    Index at[2];
    all.locate(i, at);
    x[at[0]] = rounded<T>(f(wide(x[at[0]]), static_cast<Arithmetic<T>>(wide(y[at[1]]))));
  }
}

void run_copy(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &x = call[1];
  const Elements<2> all = elements<2>({&out, &x});
  if (all.dense && out.dtype == x.dtype) {
    if (out.data == x.data) return;  // in place, as a dropout of nothing: CUDA copies no memory to itself
    const auto bytes = static_cast<std::size_t>(all.count * (out.reach() == 0 ? 0 : 1)) *
                       (out.dtype == DType::u8                               ? 1
                        : out.dtype == DType::bf16                           ? 2
                        : out.dtype == DType::f32 || out.dtype == DType::i32 ? 4
                                                                             : 8);
    check_cuda(cudaMemcpyAsync(out.data, x.data, bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
    return;
  }
  using Half = __nv_bfloat16;
  if (all.dense && out.dtype == DType::bf16 && x.dtype == DType::f32 &&
      map_packs(stream, all.count, AsItIs{}, data<Half>(out), data<const float>(x)))
    return;
  if (all.dense && out.dtype == DType::f32 && x.dtype == DType::bf16 &&
      map_packs(stream, all.count, AsItIs{}, data<float>(out), data<const Half>(x)))
    return;
  launch(copy_kernel, blocks_for(all.count), kThreads, stream, all, out.data, out.dtype, x.data, x.dtype);
}

template <class T>
void run_unary(const Call& call, const Function<Arithmetic<T>>& f, cudaStream_t stream) {
  using Real = Arithmetic<T>;
  const Operand &out = call[0], &x = call[1];
  const Elements<2> all = elements<2>({&out, &x});
  const auto by_packs = [&](const auto& known) {
    return all.dense && map_packs(stream, all.count, known, data<T>(out), data<const T>(x));
  };
  if (f.op == UnaryOp::relu && by_packs(Known<Real, UnaryOp::relu>{})) return;
  if (f.op == UnaryOp::affine && by_packs(Known<Real, UnaryOp::affine>{f.alpha, f.beta})) return;
  launch(unary_kernel<T>, blocks_for(all.count), kThreads, stream, all, data<T>(out), data<T>(x), f);
}

template <class T>
void run_unary_backward(const Call& call, const Function<Arithmetic<T>>& f, cudaStream_t stream) {
  // What a derivative does not read may be missing: anything stands in for it.
  const Operand &out = call[0], &grad = call[1], &x = call[2].defined ? call[2] : grad,
                &y = call[3].defined ? call[3] : grad;
  const Elements<4> all = elements<4>({&out, &grad, &x, &y});
  if (f.op == UnaryOp::relu && all.dense &&
      map_packs(stream, all.count, Known<Arithmetic<T>, UnaryOp::relu>{}, data<T>(out), data<const T>(grad),
                data<const T>(y)))
    return;
  launch(unary_backward_kernel<T>, blocks_for(all.count), kThreads, stream, all, data<T>(out), data<T>(grad),
         data<T>(x), data<T>(y), f);
}

template <class T>
void run_binary(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &a = call[1], &b = call[2];
  const Elements<3> all = elements<3>({&out, &a, &b});
  const Combine<Arithmetic<T>> f{call.attributes.binary};
  if (all.dense && map_packs(stream, all.count, f, data<T>(out), data<const T>(a), data<const T>(b))) return;
  launch(binary_kernel<T>, blocks_for(all.count), kThreads, stream, all, data<T>(out), data<T>(a), data<T>(b),
         f);
}

template <class T>
void run_accumulate(const Call& call, cudaStream_t stream) {
  const Operand &x = call[0], &y = call[1];
  const Elements<2> all = elements<2>({&x, &y});
  const AddScaled<Arithmetic<T>> f{static_cast<Arithmetic<T>>(call.attributes.value)};
  if (x.dtype == DType::f64 && y.dtype == DType::f32)
    return launch(accumulate_kernel<double, float>, blocks_for(all.count), kThreads, stream, all,
                  data<double>(x), data<float>(y), {call.attributes.value}, call.gate);
  if (all.dense && !call.gate &&
      map_packs(stream, all.count, f, data<T>(x), data<const T>(x), data<const T>(y)))
    return;
  launch(accumulate_kernel<T, T>, blocks_for(all.count), kThreads, stream, all, data<T>(x), data<T>(y), f,
         call.gate);
}

}  // namespace

void run_elementwise(const Call& call, const Place& place) {
  const Operand& out = call[0];
  const Attributes& a = call.attributes;
  const Index count = out.count();
  const cudaStream_t stream = native(place.stream);
  if (count == 0) return;
  if (call.op == Op::fill) {
    launch(fill_kernel, blocks_for(count), kThreads, stream, elements<1>({&out}), out.data, out.dtype,
           a.value);
    return;
  }
  if (call.op == Op::copy) return run_copy(call, stream);
  with_real(out.dtype, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    const Function<Real> f{a.unary, static_cast<Real>(a.unary_params.alpha),
                           static_cast<Real>(a.unary_params.beta)};
    if (call.op == Op::unary)
      run_unary<T>(call, f, stream);
    else if (call.op == Op::unary_backward)
      run_unary_backward<T>(call, f, stream);
    else if (call.op == Op::binary)
      run_binary<T>(call, stream);
    else
      run_accumulate<T>(call, stream);
  });
}

}  // namespace ronde::inline v0::cuda
