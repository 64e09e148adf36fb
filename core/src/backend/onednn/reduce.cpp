// Sums and extremes over one run of neighbouring axes of a dense tensor; everything else is the oracle's.
#include <algorithm>
#include <cmath>

#include "backend/onednn/backend.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

// x seen as (outer, reduced, inner).
struct AxisRun {
  std::int64_t outer = 1, reduced = 1, inner = 1;
  bool is_one_run = true;

  AxisRun(const Shape& out, const Shape& x) {
    bool inside = false, behind = false;
    for (int i = 0; i < x.rank(); ++i) {
      if (x[i] == 1) continue;
      const bool is_reduced = out[i] != x[i];
      if (is_reduced && behind) is_one_run = false;
      behind = behind || (inside && !is_reduced);
      inside = inside || is_reduced;
      (is_reduced ? reduced : (inside ? inner : outer)) *= x[i];
    }
  }
};

// Sums of rows of few values, times `scale`.
void reduce_short_rows(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& x,
                       std::int64_t rows, std::int64_t k, double scale) {
  constexpr std::int64_t kMost = 256;
  backend.threads().parallel_for(rows, grain_of_rows(k), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = std::min(kMost, rows_at_a_time(end - begin, k, 1, out, x));
    const WrittenRows to(backend, kernels, out, rows, most);
    const ReadRows from(backend, kernels, x, rows, most);
    double sums[kMost];
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels.sum_rows(sums, from(first, some), some, k);
      std::transform(sums, sums + some, to.room(first),
                     [=](double sum) { return static_cast<float>(sum * scale); });
      to.keep(first, some);
    });
  });
}

// Of columns, row by row.
struct Extremes {
  const Kernels& kernels;
  BinaryOp op;
  std::int64_t columns;

  void of_rows(float* to, const float* x, std::int64_t rows) const {
    std::copy_n(x, columns, to);
    for (std::int64_t r = 1; r < rows; ++r) kernels.binary(op, to, to, x + r * columns, columns);
  }

  // Of each of `outer` such matrices, or of one, which the threads share.
  void run(Backend& backend, float* out, const float* x, std::int64_t outer, std::int64_t rows) const {
    if (outer > 1)
      return backend.threads().parallel_for(outer, grain_of_rows(rows * columns),
                                            [&](std::int64_t begin, std::int64_t end) {
                                              for (std::int64_t i = begin; i < end; ++i)
                                                of_rows(out + i * columns, x + i * rows * columns, rows);
                                            });
    const std::int64_t grain = grain_of_rows(columns);
    const int chunks = backend.threads().chunks(rows, grain);
    const Scratch<float> parts(backend, chunks * columns);
    backend.threads().parallel_chunks(rows, grain, [&](int chunk, std::int64_t begin, std::int64_t end) {
      of_rows(parts.data() + chunk * columns, x + begin * columns, end - begin);
    });
    of_rows(out, parts.data(), chunks);
  }
};

// Of rows, or of one, which the threads share: the largest of sign * x, times sign.
void extremes_of_rows(Backend& backend, const Kernels& kernels, float sign, const Tensor& out,
                      const Tensor& x, std::int64_t rows, std::int64_t k) {
  const float* from = x.data<float>();
  float* to = out.data<float>();
  if (rows > 1)
    return backend.threads().parallel_for(rows, grain_of_rows(k), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) to[r] = sign * kernels.largest(from + r * k, k, sign);
    });
  const Scratch<float> parts(backend, backend.threads().chunks(k, kElementGrain));
  backend.threads().parallel_chunks(k, kElementGrain, [&](int chunk, std::int64_t begin, std::int64_t end) {
    parts.data()[chunk] = sign * kernels.largest(from + begin, end - begin, sign);
  });
  *to = sign * kernels.largest(parts.data(), backend.threads().chunks(k, kElementGrain), sign);
}

}  // namespace

void OneDnnBackend::reduce(ReduceOp op, const Tensor& out, const Tensor& x) {
  const AxisRun run(out.shape(), x.shape());
  const bool is_sum = op == ReduceOp::sum || op == ReduceOp::mean;
  constexpr std::int64_t kLeastColumns = 8;  // for which a kernel's call is worth it
  const bool is_extreme = !is_sum && run.is_one_run && dense_floats(out, x) && x.count() > 0;
  if (is_extreme && run.inner == 1)
    return extremes_of_rows(*this, kernels_, op == ReduceOp::max ? 1.0f : -1.0f, out, x, run.outer,
                            run.reduced);
  if (is_extreme && run.inner >= kLeastColumns)
    return Extremes{kernels_, op == ReduceOp::max ? BinaryOp::maximum : BinaryOp::minimum, run.inner}.run(
        *this, out.data<float>(), x.data<float>(), run.outer, run.reduced);
  if (!is_sum || !run.is_one_run || !dense_values(out, x) || x.count() == 0)
    return WithBfloat16::reduce(op, out, x);
  const double scale = op == ReduceOp::mean ? 1.0 / static_cast<double>(run.reduced) : 1.0;
  const std::int64_t columns = run.inner;
  constexpr std::int64_t kFewValues = 512;
  if (columns == 1 && run.outer > 1 && run.reduced <= kFewValues)
    return reduce_short_rows(*this, kernels_, out, x, run.outer, run.reduced, scale);
  const auto add = [&](double* totals, const float* rows, std::int64_t count) {
    if (columns == 1)
      *totals += kernels_.sum(rows, count);
    else
      kernels_.sum_columns(totals, rows, count, columns);
  };
  const auto write = [&](const double* sums, const WrittenRows& to, std::int64_t i) {
    float* row = to.room(i);
    for (std::int64_t k = 0; k < columns; ++k) row[k] = static_cast<float>(sums[k] * scale);
    to.keep(i, 1);
  };
  if (run.outer == 1) {
    const Scratch<double> totals(*this, columns);
    sum_over_rows(*this, kernels_, totals.data(), columns, x, columns, add);
    return write(totals.data(), WrittenRows(*this, kernels_, out, 1, 1), 0);
  }
  const std::int64_t grain = std::max<std::int64_t>(kElementGrain / (run.reduced * columns), 1);
  threads().parallel_for(run.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<double> sums(*this, columns);
    const WrittenRows to(*this, kernels_, out, run.outer, 1);
    for (std::int64_t i = begin; i < end; ++i) {
      std::fill_n(sums.data(), columns, 0.0);
      add_rows(*this, kernels_, sums.data(), x, columns, i * run.reduced, (i + 1) * run.reduced, add);
      write(sums.data(), to, i);
    }
  });
}

void OneDnnBackend::sum_of_squares(const Tensor& out, const Tensor& x) {
  if (!dense_floats(x)) return WithBfloat16::sum_of_squares(out, x);
  const float* from = x.data<float>();
  sum_over_rows(*this, out.data<double>(), x.count(), 1,
                [&](double* total, std::int64_t begin, std::int64_t count) {
                  *total += kernels_.sum_of_squares(from + begin, count);
                });
  // Squares are floats there: of values beyond 1.8e19 only doubles tell large from infinite.
  if (!std::isfinite(*out.data<double>())) WithBfloat16::sum_of_squares(out, x);
}

}  // namespace ronde::inline v0
