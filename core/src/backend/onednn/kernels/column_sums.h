/// Sums of the columns of a matrix (rows, c): which vectors of it a kernel adds up in float, before it adds
/// to doubles.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kBlockRows = 64;
constexpr int kChains = 4;  // of additions: each one waits for the one before it

// Columns that are read side by side: one vector of each row would be lines that no hardware expects.
constexpr std::int64_t kWide = kChains * kLanes;

/// Vectors of columns side by side, in the rows of a block.
struct ColumnVectors {
  std::int64_t start;  // the first row's first element
  std::int64_t rows, pitch;
  int distinct;  // vectors, as many as kChains or half or a quarter; the others have their columns again
  std::int64_t place[kChains];  // of each vector in a row
  std::int64_t fresh[kChains];  // another vector has its columns before this lane

  std::int64_t element(std::int64_t row, int k) const { return start + row * pitch + place[k]; }
  std::int64_t column(int k) const { return place[k & (distinct - 1)]; }
  IntVector lanes(int k) const { return lanes_from(fresh[k]); }
  std::int64_t rows_of_column() const { return rows * kChains / distinct; }
};

/// Adds up those that have the same columns.
[[gnu::always_inline]] inline void fold(Vector (&sums)[kChains], int distinct) {
  if (distinct <= 2) sums[0] += sums[2], sums[1] += sums[3];
  if (distinct == 1) sums[0] += sums[1];
}

/// A vector; the one in the next block of rows is asked for.
inline Vector load_of_block(const float* p, const ColumnVectors& of) {
  __builtin_prefetch(p + of.rows * of.pitch, 0, kSecondLevel);
  return load(p);
}

/// Calls f(first, how many) for the rows of each block.
template <class F>
inline void in_blocks(std::int64_t rows, const F& f) {
  for (std::int64_t start = 0; start < rows; start += kBlockRows)
    f(start, start + kBlockRows < rows ? kBlockRows : rows - start);
}

/// Calls f(ColumnVectors, given) until all columns of all rows were given; c is at least kLanes. Short rows
/// come some side by side.
[[gnu::noinline]] inline void for_column_vectors(std::int64_t rows, std::int64_t c,
                                                 void (*f)(const ColumnVectors&, const void*),
                                                 const void* given) {
  const std::int64_t together = c == kLanes ? 4 : c == 2 * kLanes ? 2 : 1;
  const std::int64_t joined = together > 1 ? rows / together : 0;
  ColumnVectors at;
  const auto give = [&](std::int64_t start, std::int64_t some, std::int64_t pitch) {
    at.start = start, at.rows = some, at.pitch = pitch;
    f(at, given);
  };
  for (int k = 0; k < kChains; ++k) at.place[k] = k * kLanes, at.fresh[k] = 0;
  at.distinct = static_cast<int>(kChains / together);
  in_blocks(joined, [&](std::int64_t start, std::int64_t some) { give(start * kWide, some, kWide); });
  at.distinct = kChains;
  const std::int64_t before = joined * kWide;
  in_blocks(rows - joined * together, [&](std::int64_t start, std::int64_t some) {
    for (std::int64_t first = 0; first < c; first += kWide) {
      for (int k = 0; k < kChains; ++k) {
        const std::int64_t wanted = first + k * kLanes;
        at.place[k] = wanted + kLanes <= c ? wanted : c - kLanes;
        at.fresh[k] = wanted - at.place[k];
      }
      give(before + start * c, some, c);
    }
  });
}
/// The same, of which the loops are compiled once for all f.
template <class F>
inline void for_column_vectors(std::int64_t rows, std::int64_t c, const F& f) {
  for_column_vectors(
      rows, c, [](const ColumnVectors& at, const void* given) { (*static_cast<const F*>(given))(at); }, &f);
}

typedef double Doubles __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));

/// Half of the lanes, as many doubles as a register holds: a loop over lanes becomes sixteen extractions.
inline Doubles half_of(Vector v, int half) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  Half halves[2];
  __builtin_memcpy(halves, &v, sizeof v);
  return __builtin_convertvector(halves[half], Doubles);
}

[[gnu::noinline]] inline void add_lanes(double* totals, Vector sums, IntVector fresh) {
  sums = masked(fresh, sums);
  for (int i = 0; i < 2; ++i) *reinterpret_cast<Doubles*>(totals + i * kLanes / 2) += half_of(sums, i);
}

}  // namespace
}  // namespace ronde::inline v0
