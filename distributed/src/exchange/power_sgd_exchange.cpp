#include "exchange/power_sgd_exchange.h"

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>

#include "exchange/multiply_factors.h"
#include "exchange/orthonormalize.h"

namespace ronde::inline v0 {
namespace {

// Less than this times smaller is not worth the arithmetic.
constexpr std::int64_t kWorthwhile = 2;

bool is_worthwhile(std::int64_t rows, std::int64_t columns, std::int64_t rank) {
  return kWorthwhile * rank * (rows + columns) <= rows * columns;
}

void matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params = {}) {
  out.backend().matmul(out, a, b, params);
}

}  // namespace

PowerSgdExchange::PowerSgdExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options,
                                   compression::PowerSgd choice)
    : GradientExchange(arena, communicator, options), choice_(choice), memory_(counts(), this->options()) {
  for (const GradientBuckets::Bucket& bucket : buckets()) factors_.push_back(factors_of(bucket));
  reset();
}

PowerSgdExchange::Factors PowerSgdExchange::factors_of(const GradientBuckets::Bucket& bucket) const {
  Factors factors;
  const std::int64_t r = choice_.rank;
  std::int64_t first = 0, second = 0, whole = 0;
  for (std::size_t s = bucket.first_segment; s < bucket.last_segment; ++s) {
    Segment segment = arena().segments()[s];
    segment.offset -= bucket.begin;
    const std::int64_t rows = segment.shape.rank() >= 2 ? segment.shape[0] : 1;
    const std::int64_t columns = segment.count / std::max<std::int64_t>(rows, 1);
    if (is_worthwhile(rows, columns, r)) {
      factors.matrices.push_back({segment.name, segment.offset, rows, columns, {}});
      first += rows * r;
      second += columns * r;
    } else {
      factors.whole.push_back(segment);
      whole += segment.count;
    }
  }
  factors.first = Tensor::zeros({first + whole}, options());
  factors.second = Tensor::zeros({second}, options());
  std::int64_t begin = 0;
  for (Matrix& matrix : factors.matrices) {
    matrix.q = factors.second.view(begin, {matrix.columns, r});
    begin += matrix.q.count();
  }
  return factors;
}

void PowerSgdExchange::reset() {
  memory_.reset();
  for (Factors& factors : factors_)
    for (Matrix& matrix : factors.matrices) fill_normal(matrix.q, hash_name(matrix.name));
}

void PowerSgdExchange::expect(const StepOutlook& outlook) {
  GradientExchange::expect(outlook);
  memory_.expect(outlook.total_samples);
}

void PowerSgdExchange::end_step(double total_samples) {
  memory_.end_step(total_samples, arena().gradients(), size());
}

void PowerSgdExchange::run(const Part& part, Wire& wire) {
  Factors& factors = factors_[part.index];
  if (outlook().updates < choice_.start_step || factors.matrices.empty()) return wire.sum(part.values);
  const Tensor& left = memory_.add_to(part.index, part.values);
  sum_first_factors(factors, left, wire);
  sum_second_factors(factors, left, part, wire);
}

void PowerSgdExchange::sum_first_factors(Factors& factors, const Tensor& left, Wire& wire) const {
  std::int64_t begin = 0;
  for (const Matrix& matrix : factors.matrices) {
    const Tensor p = factors.first.view(begin, {matrix.rows, choice_.rank});
    matmul(p, left.view(matrix.offset, matrix.shape()), matrix.q);
    begin += p.count();
  }
  for (const Segment& segment : factors.whole) {
    const Tensor whole = left.view(segment.offset, {segment.count});
    factors.first.view(begin, {segment.count}).copy_from(whole);
    whole.fill(0.0);  // all of it is sent
    begin += segment.count;
  }
  wire.sum(factors.first);
}

void PowerSgdExchange::sum_second_factors(Factors& factors, const Tensor& left, const Part& part,
                                          Wire& wire) const {
  std::int64_t begin = 0;
  std::vector<Tensor> first;
  for (const Matrix& matrix : factors.matrices) {
    const Tensor p = factors.first.view(begin, {matrix.rows, choice_.rank});
    begin += p.count();
    orthonormalize(p, hash_name(matrix.name));
    const Tensor m = left.view(matrix.offset, matrix.shape());
    const Tensor share = part.values.view(matrix.offset, matrix.shape());
    matmul(matrix.q, m, p, {.transpose_a = true});
    matmul(share, p, matrix.q, {.transpose_b = true});
    m.backend().accumulate(m, share, -1.0);
    first.push_back(p);
  }
  for (const Segment& segment : factors.whole) {
    part.values.view(segment.offset, {segment.count}).copy_from(factors.first.view(begin, {segment.count}));
    begin += segment.count;
  }
  wire.sum(factors.second);
  for (std::size_t i = 0; i < factors.matrices.size(); ++i) {
    const Matrix& matrix = factors.matrices[i];
    multiply_factors(part.values.view(matrix.offset, matrix.shape()), first[i], matrix.q);
  }
}

}  // namespace ronde::inline v0
