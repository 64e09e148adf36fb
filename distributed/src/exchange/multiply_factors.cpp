#include "exchange/multiply_factors.h"

#include <vector>

namespace ronde::inline v0 {
namespace {

// row (n) = sum over k of p[k] * columns[k] (n)
template <class T>
void combine_columns(T* row, const T* p, const std::vector<std::vector<T>>& columns) {
  const std::size_t n = columns.front().size();
  for (std::size_t j = 0; j < n; ++j) row[j] = p[0] * columns[0][j];
  for (std::size_t k = 1; k < columns.size(); ++k) {
    const T factor = p[k];
    const T* column = columns[k].data();
    for (std::size_t j = 0; j < n; ++j) row[j] += factor * column[j];
  }
}

}  // namespace

void multiply_factors(const Tensor& product, const Tensor& p, const Tensor& q) {
  visit_real(product.dtype(), "multiply_factors", [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t rank = p.size(1), n = q.size(0);
    std::vector<std::vector<T>> columns(static_cast<std::size_t>(rank));
    for (std::int64_t k = 0; k < rank; ++k)
      for (std::int64_t j = 0; j < n; ++j)
        columns[static_cast<std::size_t>(k)].push_back(q.data<T>()[j * rank + k]);
    for (std::int64_t i = 0; i < p.size(0); ++i)
      combine_columns(product.data<T>() + i * n, p.data<T>() + i * rank, columns);
  });
}

}  // namespace ronde::inline v0
