// Reductions. Sums are doubles, added in memory order, whatever the number of threads.
#include <cassert>
#include <limits>
#include <vector>

#include <ronde/core/whole_numbers.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/strided.h"

namespace ronde::inline v0 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Reduction {
  double start;
  double (*combine)(double, double);
};

Reduction reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::max:
      return {-kInfinity, [](double a, double b) { return b > a || b != b ? b : a; }};
    case ReduceOp::min:
      return {kInfinity, [](double a, double b) { return b < a || b != b ? b : a; }};
    case ReduceOp::sum:
    case ReduceOp::mean:
      break;
  }
  return {0.0, nullptr};
}

// Elements of the output that one walk over the reduced axes serves, so that whole cache lines are used when
// the last axis is kept.
constexpr std::int64_t kBlock = 64;

template <class T>
void combine_block(std::array<double, kBlock>& totals, const StridedLoop& reduced, const T* x,
                   std::int64_t width, std::int64_t stride, double (*combine)(double, double)) {
  reduced.for_each_run(0, reduced.count(), [&](const StridedLoop::Offsets& offsets, std::int64_t length) {
    for (std::int64_t r = 0; r < length; ++r) {
      const T* row = x + offsets[0] + r * reduced.inner_stride(0);
      for (std::int64_t i = 0; i < width; ++i) {
        double& total = totals[static_cast<std::size_t>(i)];
        const auto value = static_cast<double>(row[i * stride]);
        total = combine ? combine(total, value) : total + value;
      }
    }
  });
}

}  // namespace

void CpuBackend::reduce(ReduceOp op, const Tensor& out, const Tensor& x) {
  // The loop over the output, and inside it the loop over what each of its elements is made of.
  Shape reduced_shape = x.shape();
  for (int i = 0; i < x.rank(); ++i) reduced_shape[i] = out.size(i) == x.size(i) ? 1 : x.size(i);
  const StridedLoop kept(out.shape(), std::array{out.strides(), x.strides()});
  const StridedLoop reduced(reduced_shape, std::array{x.strides()});
  const Reduction reduction = reduction_of(op);
  const double scale = op == ReduceOp::mean ? 1.0 / static_cast<double>(reduced.count()) : 1.0;
  const std::int64_t grain = kElementGrain / std::max<std::int64_t>(reduced.count(), 1);
  visit_real(x.dtype(), "reduce", [&]<class T>(T) {
    T* to = out.data<T>();
    const T* from = x.data<T>();
    const auto block = [&](std::int64_t to_offset, std::int64_t from_offset, std::int64_t width) {
      std::array<double, kBlock> totals;
      totals.fill(reduction.start);
      combine_block(totals, reduced, from + from_offset, width, kept.inner_stride(1), reduction.combine);
      for (std::int64_t i = 0; i < width; ++i)
        to[to_offset + i * kept.inner_stride(0)] =
            static_cast<T>(totals[static_cast<std::size_t>(i)] * scale);
    };
    threads_.parallel_for(kept.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      kept.for_each_run(begin, end, [&](const StridedLoop::Offsets& offsets, std::int64_t length) {
        for (std::int64_t i = 0; i < length; i += kBlock)
          block(offsets[0] + i * kept.inner_stride(0), offsets[1] + i * kept.inner_stride(1),
                std::min(kBlock, length - i));
      });
    });
  });
}

namespace {

// The first largest of k elements; a NaN never wins.
template <class T>
std::int64_t index_of_maximum(const T* x, std::int64_t k) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < k; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}

std::int64_t rows_of(const Tensor& x) {
  return x.count() == 0 ? 0 : x.count() / x.shape().back();
}

}  // namespace

void CpuBackend::argmax(const Tensor& out, const Tensor& x) {
  const std::int64_t k = x.shape().back();
  visit_real(x.dtype(), "argmax", [&]<class T>(T) {
    auto* to = out.data<std::int64_t>();
    const T* from = x.data<T>();
    threads_.parallel_for(rows_of(x), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) to[row] = index_of_maximum(from + row * k, k);
    });
  });
}

void CpuBackend::sum_of_squares(const Tensor& out, const Tensor& x) {
  // Blocks of a fixed size, so that the result does not depend on the number of threads.
  constexpr std::int64_t kPiece = 65536;
  const std::int64_t pieces = ceil_divide(x.count(), kPiece);
  std::vector<double> partial(static_cast<std::size_t>(pieces));
  visit_real(x.dtype(), "sum_of_squares", [&]<class T>(T) {
    const T* from = x.data<T>();
    threads_.parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece) {
        double total = 0;
        for (std::int64_t i = piece * kPiece; i < std::min(x.count(), (piece + 1) * kPiece); ++i)
          total += static_cast<double>(from[i]) * static_cast<double>(from[i]);
        partial[static_cast<std::size_t>(piece)] = total;
      }
    });
  });
  double total = 0;
  for (const double piece : partial) total += piece;
  *out.data<double>() = total;
}

void CpuBackend::count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) {
  const std::int64_t k = scores.shape().back();
  const auto* label = labels.data<std::int32_t>();
  std::int64_t correct = 0;
  visit_real(scores.dtype(), "count_correct", [&]<class T>(T) {
    const T* row = scores.data<T>();
    for (std::int64_t i = 0; i < rows_of(scores); ++i)
      if (index_of_maximum(row + i * k, k) == label[i]) ++correct;
  });
  *total.data<std::int64_t>() += correct;
}

}  // namespace ronde::inline v0
