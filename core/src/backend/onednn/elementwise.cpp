// Elementwise functions of dense tensors, and of views of f32 in long runs. Other views and the rarer
// functions are the oracle's.
#include <algorithm>
#include <array>

#include "backend/cpu/strided.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kLeastRun = 16;  // elements for which a kernel's call is worth it

// Whether x, f32, is stretched along its first `axes` axes.
bool is_stretched(const Tensor& x, int axes) {
  if (x.dtype() != DType::f32 || x.count() == 0) return false;
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

// Views of f32, one of which may be undefined, whose elements lie side by side in runs: slices, what a margin
// was cut off, what is stretched over pixels.
class FloatRuns {
 public:
  FloatRuns(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c)
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
    return !x.defined() || (x.dtype() == DType::f32 && x.shape() == out.shape());
  }

  StridedLoop loop_;
  bool are_long_;
};

float* element(const Tensor& x, std::int64_t offset) {
  return x.defined() ? x.data<float>() + offset : nullptr;
}

}  // namespace

template <class F>
void OneDnnBackend::for_dense(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c,
                              const F& f) {
  const std::int64_t n = out.count();
  threads().parallel_for(n, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, 1, 1, out, a, b, c);
    const WrittenRows to(*this, kernels_, out, n, most);
    const ReadRows from_a(*this, kernels_, a, n, most), from_b(*this, kernels_, b, n, most),
        from_c(*this, kernels_, c, n, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t count) {
      f(to.room(first), from_a(first, count), from_b(first, count), from_c(first, count), count);
      to.keep(first, count);
    });
  });
}

template <class F>
bool OneDnnBackend::for_elements(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c,
                                 const F& f) {
  const auto is_dense_or_missing = [](const Tensor& x) { return !x.defined() || dense_values(x); };
  if (dense_values(out) && is_dense_or_missing(a) && is_dense_or_missing(b) && is_dense_or_missing(c)) {
    for_dense(out, a, b, c, f);
    return true;
  }
  const FloatRuns runs(out, a, b, c);
  if (!runs.are_long()) return false;
  threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    runs.loop().for_each_run(begin, end, [&](const StridedLoop::Offsets& offsets, std::int64_t count) {
      f(element(out, offsets[0]), element(a, offsets[1]), element(b, offsets[2]), element(c, offsets[3]),
        count);
    });
  });
  return true;
}

void OneDnnBackend::copy(const Tensor& out, const Tensor& x) {
  const auto run = [](float* to, const float* from, const float*, const float*, std::int64_t count) {
    std::copy_n(from, count, to);
  };
  if (out.dtype() == DType::f32 && x.dtype() == DType::f32 && for_elements(out, x, {}, {}, run)) return;
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
  if (!kernels_.has_unary(op) || !for_elements(out, x, {}, {}, run)) WithBfloat16::unary(op, out, x, params);
}

void OneDnnBackend::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                   const Tensor& y, UnaryParams params) {
  const auto run = [&](float* to, const float* g, const float* at_x, const float* at_y, std::int64_t count) {
    kernels_.unary_backward(op, to, g, at_x, at_y, count, static_cast<float>(params.alpha),
                            static_cast<float>(params.beta));
  };
  if (!kernels_.has_unary_backward(op) || !for_elements(grad_x, grad_y, x, y, run))
    WithBfloat16::unary_backward(op, grad_x, grad_y, x, y, params);
}

// As rows of many such rows.
void OneDnnBackend::binary_with_row(BinaryOp op, const Tensor& out, const Tensor& a, const float* row,
                                    std::int64_t c) {
  const std::int64_t most = 512 / c;
  const Scratch<float> repeated(*this, most * c);
  for (std::int64_t i = 0; i < most; ++i) std::copy_n(row, c, repeated.data() + i * c);
  threads().parallel_for(out.count() / c, kElementGrain / c, [&](std::int64_t begin, std::int64_t end) {
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels_.binary(op, out.data<float>() + first * c, a.data<float>() + first * c, repeated.data(),
                      some * c);
    });
  });
}

void OneDnnBackend::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  const bool scalar = is_stretched_scalar(b);
  if (!scalar && is_stretched_row(b) && dense_floats(out, a))
    return binary_with_row(op, out, a, b.data<float>(), b.shape().back());
  const auto run = [&](float* to, const float* left, const float* right, const float*, std::int64_t count) {
    if (scalar)
      kernels_.binary_scalar(op, to, left, *b.data<float>(), count);
    else
      kernels_.binary(op, to, left, right, count);
  };
  if (!for_elements(out, a, scalar ? Tensor() : b, {}, run)) WithBfloat16::binary(op, out, a, b);
}

void OneDnnBackend::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  const auto run = [&](float* to, const float* at, const float* from, const float*, std::int64_t count) {
    if (to != at) std::copy_n(at, count, to);
    kernels_.accumulate(to, from, static_cast<float>(alpha), count);
  };
  if (!for_elements(x, x, y, {}, run)) WithBfloat16::accumulate(x, y, alpha);
}

}  // namespace ronde::inline v0
