/// Sums of tiles on their way to where results go: as floats, or rounded to bfloat16. `Tiles` is included
/// before this.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/tile_packing.h"

namespace ronde::inline v0 {
namespace {

// The first `columns` values, or all that a vector has.
inline Vector load_first(const float* from, std::int64_t columns) {
  if (columns >= kLanes) return load(from);
  alignas(64) float values[kLanes] = {};
  for (std::int64_t c = 0; c < columns; ++c) values[c] = from[c];
  return load(values);
}

inline void store_rounded(std::uint16_t* to, Vector y) {
  const Vector halves = Tiles::rounded(y, Vector{});
  __builtin_memcpy(to, &halves, sizeof halves / 2);
}
inline void store_rounded(std::uint16_t* to, Vector first, Vector second) {
  store_pairs(to, Tiles::rounded(first, second));
}

// The results of `columns` tiles of a row, side by side.
template <int columns>
struct RowResults {
  Vector y[columns];
  std::int64_t last;  // of the last tile

  // Of a row that has `left` more.
  [[gnu::always_inline]] explicit RowResults(std::int64_t left)
      : last(at_most(left - (columns - 1) * kTileColumns, kTileColumns)) {}

  // To floats, or where halves are given to these.
  [[gnu::always_inline]] void write(float* floats, std::uint16_t* halves, std::int64_t place) const {
    if (last < kTileColumns) return write_some(floats, halves, place);
    if (!halves)
#pragma GCC unroll 2
      for (int c = 0; c < columns; ++c) store(floats + place + c * kTileColumns, y[c]);
    else if constexpr (columns == 2)
      store_rounded(halves + place, y[0], y[1]);
    else
      store_rounded(halves + place, y[0]);
  }

 private:
  void write_some(float* floats, std::uint16_t* halves, std::int64_t place) const {
    const std::int64_t count = (columns - 1) * kTileColumns + last;
    if (halves) {
      std::uint16_t row[2 * kTileColumns];
      store_rounded(row, y[0], y[columns - 1]);
      return copy_values(halves + place, row, count);
    }
    float row[columns * kTileColumns];
    for (int c = 0; c < columns; ++c) store(row + c * kTileColumns, y[c]);
    for (std::int64_t k = 0; k < count; ++k) floats[place + k] = row[k];
  }
};

}  // namespace
}  // namespace ronde::inline v0
