/// Copies of matrices with rows and columns exchanged.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/transpose.h"

namespace ronde::inline v0 {
namespace {

inline void transpose_square(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) rows[r] = load(from + r * from_pitch);
  transpose(rows);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) store(to + r * to_pitch, rows[r]);
}

// Of at most as many rows and columns as lie on few pages, and in the first level cache.
inline void copy_block_transposed(float* to, std::int64_t to_pitch, const float* from,
                                  std::int64_t from_pitch, std::int64_t rows, std::int64_t columns) {
  const std::int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  for (std::int64_t r = 0; r < whole_rows; r += kLanes)
    for (std::int64_t c = 0; c < whole_columns; c += kLanes)
      transpose_square(to + c * to_pitch + r, to_pitch, from + r * from_pitch + c, from_pitch);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      to[c * to_pitch + r] = from[r * from_pitch + c];
}

void copy_transposed(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
                     std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kSide = 64;
  for (std::int64_t r = 0; r < rows; r += kSide)
    for (std::int64_t c = 0; c < columns; c += kSide)
      copy_block_transposed(to + c * to_pitch + r, to_pitch, from + r * from_pitch + c, from_pitch,
                            rows - r < kSide ? rows - r : kSide, columns - c < kSide ? columns - c : kSide);
}

}  // namespace
}  // namespace ronde::inline v0
