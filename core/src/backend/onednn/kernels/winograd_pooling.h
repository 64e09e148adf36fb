/// Winograd's tiles before a max pooling with windows of 2x2 that do not overlap. Tiles of 4x4 and 6x6 hold
/// whole windows, so results are pooled while they are in registers, and nothing else is written: a tenth of
/// the time of both.
#pragma once

#include "backend/onednn/kernels/maximum.h"
#include "backend/onednn/kernels/winograd_tiles.h"

namespace ronde::inline v0 {
namespace {

// The windows of a tile: elements from a row of them to the next and from a window to the next, and how many
// of the m / 2 x m / 2 the image has.
struct TileWindows {
  std::int64_t first, row, window;
  std::int64_t rows, columns;

  TileWindows(const TilePlace& place, int m, const WinogradShape& s)
      : row(s.ow / 2 * s.o),
        window(s.o),
        rows(s.oh / 2 - place.row * m / 2),
        columns(s.ow / 2 - place.column * m / 2) {
    first = ((place.image * (s.oh / 2) + place.row * m / 2) * (s.ow / 2) + place.column * m / 2) * s.o;
  }
  bool are_whole(int m) const { return rows >= m / 2 && columns >= m / 2; }
  [[gnu::always_inline]] bool has(int i, int j) const { return i < rows && j < columns; }
  [[gnu::always_inline]] std::int64_t at(int i, int j) const { return first + i * row + j * window; }
};

template <int m, bool whole>
[[gnu::noinline]] inline void store_pooled_vector(const PooledOutput& to, const TileWindows& windows,
                                                  std::int64_t k, const float* from, std::int64_t point,
                                                  Vector bias, Vector least) {
  Vector rows[2][m];
  transform_tile<OutputTransform<m>>([&](int i, int j) { return load(from + (i * (m + 2) + j) * point); },
                                     [&](int i, int j, Vector v) {
                                       const Vector y = v + bias;
                                       rows[i % 2][j] = masked(~(y <= least), y);
                                       if (i % 2 == 0 || j % 2 == 0) return;
                                       if (!whole && !windows.has(i / 2, j / 2)) return;
                                       Maximum best(rows[0][j - 1]);
                                       best.take(rows[0][j], 1);
                                       best.take(rows[1][j - 1], 2);
                                       best.take(rows[1][j], 3);
                                       const std::int64_t at = windows.at(i / 2, j / 2) + k;
                                       store(to.out + at, best.value);
                                       store_bytes(to.argmax + at, best.index);
                                     });
}

template <int m>
inline void store_pooled_outputs(const PooledOutput& to, const WinogradPoints& results, TilePlace place,
                                 std::int64_t n, const WinogradShape& s, const float* bias,
                                 Epilogue epilogue) {
  const Vector least = splat(epilogue == Epilogue::relu ? 0.0f : __builtin_nanf(""));
  for (std::int64_t t = 0; t < n; ++t, place.advance(s)) {
    const TileWindows windows(place, m, s);
    const float* from = results.values + t * results.pitch;
    cover(s.o, [&](std::int64_t k) {
      const auto store = windows.are_whole(m) ? store_pooled_vector<m, true> : store_pooled_vector<m, false>;
      store(to, windows, k, from + place_of(k), results.point, bias ? load(bias + k) : Vector{}, least);
    });
  }
}

}  // namespace
}  // namespace ronde::inline v0
