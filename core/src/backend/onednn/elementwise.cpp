// Elementwise functions of dense tensors, and of views in long runs, of f32 and bf16. Other views and the
// rarer functions are the oracle's.
#include <algorithm>
#include <array>

#include "backend/cpu/strided.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kLeastRun = 16;  // elements for which a kernel's call is worth it

bool has_values(const Tensor& x) {
  return x.dtype() == DType::f32 || x.dtype() == DType::bf16;
}

// Whether x is stretched along its first `axes` axes.
bool is_stretched(const Tensor& x, int axes) {
  if (!has_values(x) || x.count() == 0) return false;
  for (int i = 0; i < axes; ++i)
    if (x.size(i) != 1 && x.strides()[i] != 0) return false;
  return true;
}

// Whether x is one value stretched over its shape.
bool is_stretched_scalar(const Tensor& x) {
  return is_stretched(x, x.rank());
}

// Whether x is one row of few values stretched over its shape.
bool is_stretched_row(const Tensor& x) {
  return x.rank() > 0 && is_stretched(x, x.rank() - 1) && x.shape().back() < kLeastRun &&
         x.strides().back() == 1;
}

// Views whose elements lie side by side in runs: slices, what a margin was cut off, what is stretched over
// pixels. All but the first may be undefined.
class ValueRuns {
 public:
  ValueRuns(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c)
      : loop_(out.shape(),
              std::array{out.strides(), strides_of(a, out), strides_of(b, out), strides_of(c, out)}),
        are_long_(loop_.inner_extent() >= kLeastRun && loop_.inner_is_dense(StridedLoop::kMaxOperands) &&
                  fits(out, out) && fits(a, out) && fits(b, out) && fits(c, out)) {}

  /// Whether a kernel's call for each run is worth it.
  bool are_long() const { return are_long_; }
  const StridedLoop& loop() const { return loop_; }

 private:
  static const Shape& strides_of(const Tensor& x, const Tensor& out) {
    return x.defined() ? x.strides() : out.strides();
  }
  static bool fits(const Tensor& x, const Tensor& out) {
    return !x.defined() || (has_values(x) && x.shape() == out.shape());
  }

  StridedLoop loop_;
  bool are_long_;
};

// What a thread has of the tensors of a call, as floats.
class ElementRows {
 public:
  ElementRows(Backend& backend, const Kernels& kernels, std::int64_t most, const Tensor& out, const Tensor& a,
              const Tensor& b, const Tensor& c)
      : most_(rows_at_a_time(most, 1, 1, out, a, b, c)),
        out_(backend, kernels, out, out.count(), most_),
        a_(backend, kernels, a, out.count(), most_),
        b_(backend, kernels, b, out.count(), most_),
        c_(backend, kernels, c, out.count(), most_) {}

  // Calls f(out, a, b, c, count) for `count` elements from these offsets on.
  template <class F>
  void run(const StridedLoop::Offsets& offsets, std::int64_t count, const F& f) const {
    in_pieces(0, count, most_, [&](std::int64_t first, std::int64_t some) {
      f(out_.room(offsets[0] + first), a_(offsets[1] + first, some), b_(offsets[2] + first, some),
        c_(offsets[3] + first, some), some);
      out_.keep(offsets[0] + first, some);
    });
  }

 private:
  std::int64_t most_;
  WrittenRows out_;
  ReadRows a_, b_, c_;
};

// Calls f(to, a, b, c, count) for elements of the tensors as floats; null for what is not defined. False
// where they are neither dense nor views in long runs.
template <class F>
bool for_elements(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& a,
                  const Tensor& b, const Tensor& c, const F& f) {
  const auto is_dense_or_missing = [](const Tensor& x) { return !x.defined() || dense_values(x); };
  if (dense_values(out) && is_dense_or_missing(a) && is_dense_or_missing(b) && is_dense_or_missing(c)) {
    backend.threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      ElementRows(backend, kernels, end - begin, out, a, b, c)
          .run({begin, begin, begin, begin}, end - begin, f);
    });
    return true;
  }
  const ValueRuns runs(out, a, b, c);
  if (!runs.are_long()) return false;
  backend.threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    const ElementRows rows(backend, kernels, end - begin, out, a, b, c);
    runs.loop().for_each_run(begin, end, [&](const StridedLoop::Offsets& offsets, std::int64_t count) {
      rows.run(offsets, count, f);
    });
  });
  return true;
}

template <class T>
void copy_runs(ThreadPool& threads, const StridedLoop& loop, T* to, const T* from) {
  threads.parallel_for(loop.count(), kElementGrain, [&loop, to, from](std::int64_t begin, std::int64_t end) {
    loop.for_each_run(begin, end, [to, from](const StridedLoop::Offsets& offsets, std::int64_t count) {
      std::copy_n(from + offsets[1], count, to + offsets[0]);
    });
  });
}

// Between views of one type in long runs.
bool copy_runs(ThreadPool& threads, const Tensor& out, const Tensor& x) {
  const ValueRuns runs(out, x, {}, {});
  if (out.dtype() != x.dtype() || !runs.are_long()) return false;
  if (out.dtype() == DType::f32)
    copy_runs(threads, runs.loop(), out.data<float>(), x.data<float>());
  else
    copy_runs(threads, runs.loop(), bits_of(out), bits_of(x));
  return true;
}

// a and a stretched row, as rows of many such rows.
void binary_with_row(Backend& backend, const Kernels& kernels, BinaryOp op, const Tensor& out,
                     const Tensor& a, const Tensor& row) {
  const std::int64_t c = row.shape().back(), rows = out.count() / c, most = 512 / c;
  const ReadRows once(backend, kernels, row, rows, 1);
  const Scratch<float> repeated(backend, most * c);
  const float* values = once(0, 1);
  for (std::int64_t i = 0; i < most; ++i) std::copy_n(values, c, repeated.data() + i * c);
  backend.threads().parallel_for(rows, kElementGrain / c, [&](std::int64_t begin, std::int64_t end) {
    const WrittenRows to(backend, kernels, out, rows, most);
    const ReadRows from(backend, kernels, a, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels.binary(op, to.room(first), from(first, some), repeated.data(), some * c);
      to.keep(first, some);
    });
  });
}

// Of views in long runs, for each of which a or b has one value, as one of a row or of an image.
bool binary_with_column(ThreadPool& threads, const Kernels& kernels, BinaryOp op, const Tensor& out,
                        const Tensor& a, const Tensor& b) {
  if (out.dtype() != DType::f32 || a.dtype() != DType::f32 || b.dtype() != DType::f32) return false;
  const StridedLoop loop(out.shape(), std::array{out.strides(), a.strides(), b.strides()});
  const bool a_is_one = loop.inner_stride(1) == 0, b_is_one = loop.inner_stride(2) == 0;
  const std::int64_t other_step = loop.inner_stride(a_is_one ? 2 : 1);
  if (loop.inner_extent() < kLeastRun || a_is_one == b_is_one || other_step != 1 || loop.inner_stride(0) != 1)
    return false;
  threads.parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    loop.for_each_run(begin, end, [&](const StridedLoop::Offsets& at, std::int64_t count) {
      float* to = out.data<float>() + at[0];
      const float *left = a.data<float>() + at[1], *right = b.data<float>() + at[2];
      if (b_is_one) return kernels.binary_scalar(op, to, left, *right, count);
      constexpr std::int64_t kMost = 512;
      float repeated[kMost];
      std::fill_n(repeated, std::min(kMost, count), *left);
      in_pieces(0, count, kMost, [&](std::int64_t first, std::int64_t some) {
        kernels.binary(op, to + first, repeated, right + first, some);
      });
    });
  });
  return true;
}

}  // namespace

void OneDnnBackend::copy(const Tensor& out, const Tensor& x) {
  if (copy_runs(threads(), out, x) || copy_transposed(out, x)) return;
  const bool rounds = is_dense(out, DType::bf16) && is_dense(x, DType::f32),
             widens = is_dense(out, DType::f32) && is_dense(x, DType::bf16);
  if ((!rounds && !widens) || out.shape() != x.shape()) return WithBfloat16::copy(out, x);
  threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    if (rounds)
      kernels_.to_bfloat16(bits_of(out) + begin, x.data<float>() + begin, end - begin);
    else
      kernels_.from_bfloat16(out.data<float>() + begin, bits_of(x) + begin, end - begin);
  });
}

void OneDnnBackend::unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) {
  const auto run = [&](float* to, const float* from, const float*, const float*, std::int64_t count) {
    kernels_.unary(op, to, from, count, static_cast<float>(params.alpha), static_cast<float>(params.beta));
  };
  if (!kernels_.has_unary(op, static_cast<float>(params.alpha)) ||
      !for_elements(*this, kernels_, out, x, {}, {}, run))
    WithBfloat16::unary(op, out, x, params);
}

void OneDnnBackend::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                   const Tensor& y, UnaryParams params) {
  const auto run = [&](float* to, const float* g, const float* at_x, const float* at_y, std::int64_t count) {
    kernels_.unary_backward(op, to, g, at_x, at_y, count, static_cast<float>(params.alpha),
                            static_cast<float>(params.beta));
  };
  if (!kernels_.has_unary_backward(op, static_cast<float>(params.alpha)) ||
      !for_elements(*this, kernels_, grad_x, grad_y, x, y, run))
    WithBfloat16::unary_backward(op, grad_x, grad_y, x, y, params);
}

void OneDnnBackend::relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y,
                                  const Tensor& y, double scale) {
  const auto run = [&](float* to, const float* g, const float* at_y, const float*, std::int64_t count) {
    constexpr std::int64_t kInCache = 4096;
    in_pieces(0, count, kInCache, [&](std::int64_t i, std::int64_t some) {
      kernels_.unary_backward(UnaryOp::relu, to + i, g + i, at_y + i, at_y + i, some, 0.0f, 0.0f);
      if (scale != 1.0)
        kernels_.unary(UnaryOp::affine, to + i, to + i, some, static_cast<float>(scale), 0.0f);
    });
  };
  if (grad_bias.defined() || !for_elements(*this, kernels_, grad_x, grad_y, y, {}, run))
    WithBfloat16::relu_backward(grad_x, grad_bias, grad_y, y, scale);
}

void OneDnnBackend::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  const bool scalar = is_stretched_scalar(b);
  if (!scalar && is_stretched_row(b) && dense_values(out, a))
    return binary_with_row(*this, kernels_, op, out, a, b);
  const ReadRows first(*this, kernels_, scalar ? b : Tensor(), b.count(), 1);
  const float* value = first(0, 1);
  const auto run = [&](float* to, const float* left, const float* right, const float*, std::int64_t count) {
    if (scalar)
      kernels_.binary_scalar(op, to, left, *value, count);
    else
      kernels_.binary(op, to, left, right, count);
  };
  if (!for_elements(*this, kernels_, out, a, scalar ? Tensor() : b, {}, run) &&
      !binary_with_column(threads(), kernels_, op, out, a, b))
    WithBfloat16::binary(op, out, a, b);
}

void OneDnnBackend::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  const auto run = [&](float* to, const float* at, const float* from, const float*, std::int64_t count) {
    if (to != at) std::copy_n(at, count, to);
    kernels_.accumulate(to, from, static_cast<float>(alpha), count);
  };
  if (!for_elements(*this, kernels_, x, x, y, {}, run)) WithBfloat16::accumulate(x, y, alpha);
}

}  // namespace ronde::inline v0
