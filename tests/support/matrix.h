/// Small matrices of doubles, for oracles by plain loops.
#pragma once

#include <cstddef>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::test {

using Matrix = std::vector<std::vector<double>>;  ///< rows

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b[0].size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}

inline Matrix transposed(const Matrix& a) {
  Matrix out(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) out[j][i] = a[i][j];
  return out;
}

/// A row for each index of the first axis.
inline Matrix matrix_of(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  const auto columns = static_cast<std::ptrdiff_t>(values.size()) / tensor.size(0);
  Matrix rows;
  for (auto row = values.begin(); row != values.end(); row += columns) rows.emplace_back(row, row + columns);
  return rows;
}

}  // namespace ronde::test
