/// Sums over rows, split over threads and added in the order of the chunks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/scratch.h"
#include "backend/cpu/strided.h"
#include "backend/onednn/float_rows.h"

namespace ronde::inline v0 {

/// Writes to totals (c) what `add(totals, first row, rows)` accumulates over all rows.
template <class F>
void sum_over_rows(Backend& backend, double* totals, std::int64_t rows, std::int64_t c, F&& add) {
  std::fill_n(totals, c, 0.0);
  const std::int64_t grain = std::max<std::int64_t>(kElementGrain / std::max<std::int64_t>(c, 1), 1);
  const int chunks = backend.threads().chunks(rows, grain);
  if (chunks == 0) return;
  // Whole cache lines, so that the threads do not write to the same one.
  const std::int64_t width = (c + 7) / 8 * 8;
  const Scratch<double> partial(backend, width * chunks);
  backend.threads().parallel_chunks(rows, grain, [&](int chunk, std::int64_t begin, std::int64_t end) {
    double* mine = partial.data() + width * chunk;
    std::fill_n(mine, c, 0.0);
    add(mine, begin, end - begin);
  });
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (std::int64_t i = 0; i < c; ++i) totals[i] += partial.data()[width * chunk + i];
}

/// Rows that kernels add up in float before they add to doubles.
constexpr std::int64_t kSummedInFloat = 64;

/// Writes to totals (c) what `add(totals, rows as floats, count)` accumulates over the rows (c) of x, which
/// is f32 or bf16 and dense.
template <class F>
void sum_over_rows(Backend& backend, const Kernels& kernels, double* totals, const Tensor& x, std::int64_t c,
                   F&& add) {
  const std::int64_t rows = x.count() / c;
  sum_over_rows(backend, totals, rows, c, [&](double* sums, std::int64_t row, std::int64_t count) {
    const std::int64_t most = rows_at_a_time(count, c, kSummedInFloat, x);
    const ReadRows from(backend, kernels, x, rows, most);
    in_pieces(row, row + count, most,
              [&](std::int64_t first, std::int64_t some) { add(sums, from(first, some), some); });
  });
}

}  // namespace ronde::inline v0
