/// Sums over rows, split over threads and added in the order of the chunks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/scratch.h"
#include "backend/cpu/strided.h"
#include "backend/onednn/float_rows.h"

namespace ronde::inline v0 {

/// Rows of c elements that a thread gets at least.
inline std::int64_t grain_of_rows(std::int64_t c) {
  return std::max<std::int64_t>(kElementGrain / std::max<std::int64_t>(c, 1), 1);
}

/// Writes to totals (c) what `add(totals, first row, rows)` accumulates over all rows.
template <class F>
void sum_over_rows(Backend& backend, double* totals, std::int64_t rows, std::int64_t c, F&& add) {
  std::fill_n(totals, c, 0.0);
  const std::int64_t grain = grain_of_rows(c);
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

/// Adds to totals (c) what `add(totals, rows as floats, count)` accumulates over rows [begin, end) of x,
/// which is f32 or bf16, dense and has c columns.
template <class F>
void add_rows(Backend& backend, const Kernels& kernels, double* totals, const Tensor& x, std::int64_t c,
              std::int64_t begin, std::int64_t end, const F& add) {
  const std::int64_t most = rows_at_a_time(end - begin, c, kSummedInFloat, x);
  const ReadRows from(backend, kernels, x, x.count() / c, most);
  in_pieces(begin, end, most,
            [&](std::int64_t first, std::int64_t rows) { add(totals, from(first, rows), rows); });
}

/// Writes to totals (width), which has as many sums as `add` makes of a row, the same over all rows.
template <class F>
void sum_over_rows(Backend& backend, const Kernels& kernels, double* totals, std::int64_t width,
                   const Tensor& x, std::int64_t c, const F& add) {
  sum_over_rows(backend, totals, x.count() / c, width,
                [&](double* sums, std::int64_t row, std::int64_t count) {
                  add_rows(backend, kernels, sums, x, c, row, row + count, add);
                });
}

}  // namespace ronde::inline v0
