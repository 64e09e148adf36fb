/// Products of matrices, for one thread.
///
/// A block of rows x columns of the result stays in registers while kProductDepth values of the inner
/// dimension go by: per value a few loads of b, one broadcast of a per row. A piece of b is copied first, so
/// that what a block reads is one stretch of memory: rows of a dense layer's weights often lie a power of two
/// apart and would compete for a few places in the cache. So is a transposed piece of a. While pieces are
/// multiplied, the lines of the next ones are fetched. An element's sum is added up in an order that depends
/// on its inner dimension alone.
#pragma once

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/into.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/transpose.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kMatrixVectors = kVectorRegisters >= 32 ? 4 : 2;  // columns / kLanes of a block
constexpr int kMatrixRows = kVectorRegisters * 3 / 4 / kMatrixVectors;
static_assert(kProductStrip % kMatrixRows == 0);
static_assert(kProductColumns >= kMatrixVectors * kLanes);

// Elements from one copied row of a to the next: an odd number of cache lines.
constexpr std::int64_t kPackedPitch = kProductDepth + 16;
static_assert(kProductStrip * kPackedPitch <= kProductScratch - kProductColumns * kProductDepth);

// a(r, k) is a[r * row + k * step].
struct LeftOperand {
  const float* a;
  std::int64_t row, step;
};

// b(k, c). Note [Packed columns]: packed, the rows of as many columns as a block has lie one behind the
// other; those from column c on begin at c * depth.
struct RightOperand {
  const float* b;
  std::int64_t pitch;  // 0: packed
};

// Values of the inner dimension that go by from one fetch to the next: few enough for all lines to be there
// in time, and with AVX2 more than one, as a value takes six cycles only.
constexpr int kStepsOfFetch = kVectorRegisters >= 32 ? 1 : 4;
constexpr std::int64_t kLeastDepthOfFetch = 16;  // shorter blocks hide nothing

// Results that nothing has read come from memory too, before they are written.
template <int rows, int vectors>
inline void fetch_results(float* out, std::int64_t pitch) {
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < vectors * kLanes; c += kCacheLine)
      __builtin_prefetch(out + r * pitch + c, 1, kSecondLevel);
}

// Of a block's rows those that are found from the first one: an instruction can add the distance of a row, or
// twice it, but not five times, and what holds more distances is missing elsewhere.
constexpr int kFirstRows = 3;

// out (rows, vectors * kLanes) = or += a (rows, depth) * b (depth, ...)
//
// UndefinedBehaviorSanitizer would keep its loops from being unrolled: a third of what tests take with it.
template <int rows, int vectors>
inline __attribute__((no_sanitize("undefined"))) void matrix_block(float* out, std::int64_t out_pitch,
                                                                   LeftOperand a, const float* b,
                                                                   std::int64_t b_pitch, std::int64_t depth,
                                                                   Into into, NextPieces& next) {
  NextPieces ahead = next;
  if (into == Into::nothing && depth >= kLeastDepthOfFetch) fetch_results<rows, vectors>(out, out_pitch);
  Vector total[rows][vectors];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      total[r][v] = into == Into::sum ? load(out + r * out_pitch + v * kLanes) : Vector{};
  const float* from = a.a;
  const float* behind = rows > kFirstRows ? from + kFirstRows * a.row : from;
  const auto step = [&]() __attribute__((always_inline, no_sanitize("undefined"))) {
    Vector w[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) w[v] = load(b + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        total[r][v] += w[v] * (r < kFirstRows ? from[r * a.row] : behind[(r - kFirstRows) * a.row]);
    from += a.step;
    behind += a.step;
    b += b_pitch;
  };
  std::int64_t k = 0;
  for (; k + kStepsOfFetch <= depth; k += kStepsOfFetch) {
    ahead.fetch();
    // One by one: of four steps together GCC 12 keeps some sums in memory where there are 16 registers.
#pragma GCC unroll 1
    for (int i = 0; i < kStepsOfFetch; ++i) step();
  }
  for (; k < depth; ++k) step();
  next = ahead;
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(out + r * out_pitch + v * kLanes, total[r][v]);
}

// Calls f<rows>() for the last rows, fewer than a block has.
template <int most, class F>
inline void last_rows(std::int64_t rows, const F& f) {
  if constexpr (most > 0) {
    if (rows == most) return f.template operator()<most>();
    last_rows<most - 1>(rows, f);
  }
}

// Calls f<vectors>(first) for the blocks of `columns`, a multiple of kLanes.
template <class F>
inline void for_column_blocks(std::int64_t columns, const F& f) {
  std::int64_t c = 0;
  const auto blocks = [&]<int vectors>() {
    for (; c + vectors * kLanes <= columns; c += vectors * kLanes) f.template operator()<vectors>(c);
  };
  if constexpr (kMatrixVectors >= 4) blocks.template operator()<4>();
  blocks.template operator()<2>();
  blocks.template operator()<1>();
}

// All rows of `columns`, a multiple of kLanes.
inline void matrix_columns(float* out, std::int64_t out_pitch, LeftOperand a, std::int64_t rows,
                           RightOperand b, std::int64_t columns, std::int64_t depth, Into into,
                           NextPieces& next) {
  for_column_blocks(columns, [&]<int vectors>(std::int64_t c) {
    const float* from = b.pitch ? b.b + c : b.b + c * depth;
    const std::int64_t pitch = b.pitch ? b.pitch : vectors * kLanes;
    std::int64_t r = 0;
    const auto block = [&]<int count>() {
      matrix_block<count, vectors>(out + r * out_pitch + c, out_pitch, {a.a + r * a.row, a.row, a.step}, from,
                                   pitch, depth, into, next);
      r += count;
    };
    // Two rows are too few sums to keep the multipliers busy: two times four rather than a block and two.
    while (rows - r >= kMatrixRows && rows - r != kMatrixRows + 2) block.template operator()<kMatrixRows>();
    if (rows - r == kMatrixRows + 2) block.template operator()<kMatrixRows - 2>();
    last_rows<kMatrixRows - 1>(rows - r, block);
  });
}

// to (depth, vectors * kLanes) = from (depth, ...; pitch given)
template <int vectors>
inline void copy_columns(float* to, const float* from, std::int64_t pitch, std::int64_t depth) {
  for (std::int64_t k = 0; k < depth; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      store(to + (k * vectors + v) * kLanes, load(from + k * pitch + v * kLanes));
}

// to (depth, vectors * kLanes) = from (vectors * kLanes, depth; pitch given), transposed.
template <int vectors>
inline void transpose_columns(float* to, const float* from, std::int64_t pitch, std::int64_t depth) {
  for (int v = 0; v < vectors; ++v, to += kLanes, from += kLanes * pitch) {
    std::int64_t k = 0;
    for (; k + kLanes <= depth; k += kLanes) {
      Vector rows[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) rows[r] = load(from + r * pitch + k);
      transpose(rows);
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) store(to + (k + r) * vectors * kLanes, rows[r]);
    }
    for (; k < depth; ++k)
      for (int r = 0; r < kLanes; ++r) to[k * vectors * kLanes + r] = from[r * pitch + k];
  }
}

// The piece of b from (k, c) on, packed: Note [Packed columns].
__attribute__((noinline)) void pack_piece(float* to, const float* b, const ProductShape& s, std::int64_t k,
                                          std::int64_t c, std::int64_t columns, std::int64_t depth) {
  for_column_blocks(columns, [&]<int vectors>(std::int64_t first) {
    float* block = to + first * depth;
    if (s.transpose_b)
      transpose_columns<vectors>(block, b + (c + first) * s.b_pitch + k, s.b_pitch, depth);
    else
      copy_columns<vectors>(block, b + k * s.b_pitch + c + first, s.b_pitch, depth);
  });
}

// Where such a piece lies in a b that is packed as a whole: in the order in which product_columns takes them.
inline std::int64_t place_of_piece(const ProductShape& s, std::int64_t k, std::int64_t c,
                                   std::int64_t columns) {
  return c * s.k + k * columns;
}

// It, packed in `scratch` if it is transposed or enough rows of a use it.
inline RightOperand right_operand(const float* b, const ProductShape& s, std::int64_t k, std::int64_t c,
                                  std::int64_t columns, std::int64_t depth, float* scratch) {
  if (s.is_packed) return {b + place_of_piece(s, k, c, columns), 0};
  if (!s.transpose_b && s.m <= kMatrixRows) return {b + k * s.b_pitch + c, s.b_pitch};
  pack_piece(scratch, b, s, k, c, columns, depth);
  return {scratch, 0};
}

// to (depth, rows) = the same part of a matrix with `pitch`.
inline void copy_strip(float* to, const float* from, std::int64_t pitch, std::int64_t rows,
                       std::int64_t depth) {
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t r = 0; r < rows; ++r) to[k * rows + r] = from[k * pitch + r];
}

// to (rows, kPackedPitch) = from (rows, depth; pitch given)
inline void copy_rows(float* to, const float* from, std::int64_t pitch, std::int64_t rows,
                      std::int64_t depth) {
  for (std::int64_t r = 0; r < rows; ++r)
    if (depth >= kLanes)
      cover(depth, [=](std::int64_t k) { store(to + r * kPackedPitch + k, load(from + r * pitch + k)); });
    else
      for (std::int64_t k = 0; k < depth; ++k) to[r * kPackedPitch + k] = from[r * pitch + k];
}

// Rows of a piece of a, copied to `scratch` if it is transposed or enough columns of b use it.
inline LeftOperand left_operand(const float* a, const ProductShape& s, std::int64_t r, std::int64_t k,
                                std::int64_t rows, std::int64_t depth, float* scratch) {
  if (s.transpose_a) {
    copy_strip(scratch, a + k * s.a_pitch + r, s.a_pitch, rows, depth);
    return {scratch, 1, rows};
  }
  if (s.n <= kMatrixVectors * kLanes) return {a + r * s.a_pitch + k, s.a_pitch, 1};
  copy_rows(scratch, a + r * s.a_pitch + k, s.a_pitch, rows, depth);
  return {scratch, kPackedPitch, 1};
}

inline std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

inline Lines lines_of_left(const float* a, const ProductShape& s, std::int64_t r, std::int64_t k) {
  const std::int64_t rows = least(kProductStrip, s.m - r), depth = least(kProductDepth, s.k - k);
  return s.transpose_a ? Lines(a + k * s.a_pitch + r, s.a_pitch, depth, rows)
                       : Lines(a + r * s.a_pitch + k, s.a_pitch, rows, depth);
}

inline Lines lines_of_right(const float* b, const ProductShape& s, std::int64_t k, std::int64_t c) {
  const std::int64_t columns = least(kProductColumns, s.n - c), depth = least(kProductDepth, s.k - k);
  if (s.is_packed) return Lines(b + place_of_piece(s, k, c, columns), columns * depth, 1, columns * depth);
  return s.transpose_b ? Lines(b + c * s.b_pitch + k, s.b_pitch, columns, depth)
                       : Lines(b + k * s.b_pitch + c, s.b_pitch, depth, columns);
}

// Columns [c, c + columns) of some rows.
inline void product_columns(float* out, const float* a, const float* b, const ProductShape& s, std::int64_t c,
                            float* scratch) {
  const bool fetches = s.k >= kLeastDepthOfFetch && s.m > kMatrixRows;  // of fewer rows nothing is copied
  const std::int64_t columns = least(kProductColumns, s.n - c);
  NextPieces next;
  for (std::int64_t k = 0; k < s.k; k += kProductDepth) {
    const std::int64_t depth = least(kProductDepth, s.k - k);
    const bool is_last = k + depth >= s.k;
    const std::int64_t next_k = is_last ? 0 : k + depth, next_c = is_last ? c + columns : c;
    const bool has_next = fetches && next_c < s.n;
    const RightOperand right = right_operand(b, s, k, c, columns, depth, scratch);
    if (has_next) next.right = lines_of_right(b, s, next_k, next_c);
    for (std::int64_t r = 0; r < s.m; r += kProductStrip) {
      const std::int64_t rows = least(kProductStrip, s.m - r);
      const LeftOperand left =
          left_operand(a, s, r, k, rows, depth, scratch + kProductColumns * kProductDepth);
      if (fetches && r + rows < s.m)
        next.left = lines_of_left(a, s, r + rows, k);
      else if (has_next)
        next.left = lines_of_left(a, s, 0, next_k);
      matrix_columns(out + r * s.out_pitch + c, s.out_pitch, left, rows, right, columns, depth,
                     k == 0 ? Into::nothing : Into::sum, next);
    }
  }
}

void pack_columns(float* packed, const float* b, const ProductShape& s, std::int64_t first) {
  const std::int64_t columns = least(kProductColumns, s.n - first);
  for (std::int64_t k = 0; k < s.k; k += kProductDepth)
    pack_piece(packed + place_of_piece(s, k, first, columns), b, s, k, first, columns,
               least(kProductDepth, s.k - k));
}

void product(float* out, const float* a, const float* b, const ProductShape& s, float* scratch) {
  for (std::int64_t r = 0; r < s.m; r += kProductRowsAtOnce) {
    ProductShape rows = s;
    rows.m = least(kProductRowsAtOnce, s.m - r);
    for (std::int64_t c = 0; c < s.n; c += kProductColumns)
      product_columns(out + r * s.out_pitch, a + (s.transpose_a ? r : r * s.a_pitch), b, rows, c, scratch);
  }
}

}  // namespace
}  // namespace ronde::inline v0
