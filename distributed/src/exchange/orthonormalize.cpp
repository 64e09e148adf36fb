#include "exchange/orthonormalize.h"

#include <cmath>

#include <ronde/core/philox.h>

namespace ronde::inline v0 {
namespace {

// Of what was left of a column: when less, its direction is rounding noise.
constexpr double kDependent = 1e-6;

double normal(std::uint64_t seed, std::int64_t index) {
  return normal_double(
      philox(seed, {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0}));
}

template <class T>
class Columns {
 public:
  explicit Columns(const Tensor& matrix)
      : data_(matrix.data<T>()), rows_(matrix.size(0)), columns_(matrix.size(1)) {}

  std::int64_t columns() const { return columns_; }
  T& at(std::int64_t row, std::int64_t column) const { return data_[row * columns_ + column]; }

  double dot(std::int64_t a, std::int64_t b) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < rows_; ++i) sum += double{at(i, a)} * double{at(i, b)};
    return sum;
  }
  // Makes column j orthogonal to those before it; returns which share of its norm was left.
  double project(std::int64_t j) const {
    const double before = std::sqrt(dot(j, j));
    for (std::int64_t k = 0; k < j; ++k) {
      const double product = dot(k, j);
      for (std::int64_t i = 0; i < rows_; ++i) at(i, j) -= static_cast<T>(product * double{at(i, k)});
    }
    const double after = std::sqrt(dot(j, j));
    return before > 0.0 || std::isnan(before) ? after / before : 0.0;
  }
  void normalize(std::int64_t j) const {
    const double factor = 1.0 / std::sqrt(dot(j, j));
    for (std::int64_t i = 0; i < rows_; ++i) at(i, j) = static_cast<T>(double{at(i, j)} * factor);
  }
  void fill(std::int64_t j, std::uint64_t seed) const {
    for (std::int64_t i = 0; i < rows_; ++i) at(i, j) = static_cast<T>(normal(seed, i * columns_ + j));
  }

 private:
  T* data_;
  std::int64_t rows_, columns_;
};

}  // namespace

void orthonormalize(const Tensor& matrix, std::uint64_t seed) {
  visit_real(matrix.dtype(), "orthonormalize", [&](auto tag) {
    const Columns<decltype(tag)> columns(matrix);
    for (std::int64_t j = 0; j < columns.columns(); ++j) {
      if (columns.project(j) < kDependent) {
        columns.fill(j, seed);
        columns.project(j);
      }
      columns.normalize(j);
      columns.project(j);  // what rounding put back
      columns.normalize(j);
    }
  });
}

void fill_normal(const Tensor& matrix, std::uint64_t seed) {
  visit_real(matrix.dtype(), "fill_normal", [&](auto tag) {
    auto* values = matrix.data<decltype(tag)>();
    for (std::int64_t i = 0; i < matrix.count(); ++i) values[i] = static_cast<decltype(tag)>(normal(seed, i));
  });
}

}  // namespace ronde::inline v0
