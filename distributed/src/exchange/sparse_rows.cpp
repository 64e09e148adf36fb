#include "exchange/sparse_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

struct Rows {
  Tensor numbers;  // i32 (n)
  Tensor values;   // (n, d)
};

template <class T>
Rows used_rows(const Tensor& table) {
  const std::int64_t width = table.size(1);
  std::vector<std::int32_t> numbers;
  for (std::int64_t row = 0; row < table.size(0); ++row) {
    const T* values = table.data<T>() + row * width;
    // A NaN is not zero either, nor is -0: adding to it could give other bits than adding to 0 does.
    if (std::any_of(values, values + width, [](T v) { return v != T{0} || std::signbit(v); }))
      numbers.push_back(static_cast<std::int32_t>(row));
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  Rows rows{Tensor::from<std::int32_t>({count}, numbers, &table.backend()),
            Tensor::empty({count, width}, table.options())};
  table.backend().gather_rows(rows.values, table, rows.numbers);
  return rows;
}

std::vector<std::int64_t> counts_of_ranks(std::int64_t own, Wire& wire) {
  const Tensor in = Tensor::from<std::int64_t>({1}, {own});
  const Tensor all = Tensor::empty({wire.ranks()}, in.options());
  wire.gather(all, in);
  return all.to_vector<std::int64_t>();
}

}  // namespace

void sum_sparse_rows(const Tensor& table, Wire& wire) {
  const std::int64_t width = table.size(1);
  const Rows own = visit_real(table.dtype(), "sparse_rows", [&]<class T>(T) { return used_rows<T>(table); });
  const std::vector<std::int64_t> counts = counts_of_ranks(own.numbers.count(), wire);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const Rows all{Tensor::empty({total}, own.numbers.options()),
                 Tensor::empty({total, width}, table.options())};
  if (all.numbers.byte_size() + all.values.byte_size() >= table.byte_size()) return wire.sum(table);

  if (total == 0) return;
  wire.gather(all.numbers, own.numbers, counts);
  wire.gather(all.values, own.values, counts);
  // Own rows back to zero, then everybody's in one order: adding to what is there would give each rank other
  // bits.
  Backend& backend = table.backend();
  const std::int32_t* number = own.numbers.data<std::int32_t>();
  for (std::int64_t i = 0; i < own.numbers.count(); ++i) table.slice(0, number[i], number[i] + 1).fill(0.0);
  backend.scatter_add_rows(table, all.values, all.numbers);
}

}  // namespace ronde::inline v0
