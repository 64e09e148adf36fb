/// Winograd's convolution of images with few tiles.
///
/// Note [Few tiles]: transformed, filters are four times as large. Many tiles pay for writing them to memory
/// and reading them from there; few do not: then all tiles of a batch are one block, and the filters of some
/// columns and rows are transformed when they are needed, into the second level cache, and multiplied there.
/// Of 512 x 512 filters and one image of 7x7 that takes a third of the time. Results are the same bits. The
/// gradient of the weight goes the other way: the sums of some channels and filters, which no other tile adds
/// to, become their gradient in the second level cache.
#pragma once

#include "backend/onednn/kernels/winograd_filters.h"
#include "backend/onednn/kernels/winograd_tiles.h"

namespace ronde::inline v0 {
namespace {

// Calls f(first, count) for `most` channels at a time, or kMostOver more: at least kLanes of at least as
// many.
template <class F>
inline void for_slabs(std::int64_t channels, std::int64_t most, const F& f) {
  for (std::int64_t first = 0; first < channels;) {
    const std::int64_t rest = channels - first;
    const std::int64_t count = rest <= most + kMostOver ? rest : most;
    f(first, count);
    first += count;
  }
}

// The results of `n` tiles for columns [first, first + count).
inline void multiply_slab(const FewTiles& parts, const float* weight, const WinogradFilters& whole,
                          std::int64_t first, std::int64_t count, std::int64_t n) {
  const float* from = weight + first * (whole.by_column ? 9 * whole.pitch : 1);
  const std::int64_t step = whole.by_column ? 1 : 9 * whole.pitch;  // from a row to the next
  for (std::int64_t k = 0; k < whole.depth; k += FewTiles::kDepth) {
    WinogradFilters some = whole;
    some.columns = count;
    some.depth = whole.depth - k < FewTiles::kDepth ? whole.depth - k : FewTiles::kDepth;
    winograd_filters(parts.filters, from + k * step, some, 0, some.depth);
    WinogradPoints inputs = parts.inputs;
    inputs.values += k;
    multiply_points(parts.results, inputs, winograd_points(whole.tile), parts.filters, n, some.depth, count,
                    k == 0 ? Into::nothing : Into::sum, {}, {});
  }
}

void winograd_conv_few(float* out, const float* x, const float* weight, const float* bias,
                       const WinogradShape& s, std::int64_t images, float* scratch, Epilogue epilogue) {
  const FewTiles parts(scratch, s, s.c, s.o);
  const std::int64_t n = images * s.tiles();
  fill_zeros(parts.outside.zeros, s.c);
  with_tile(s.tile, [&]<int m>() {
    load_inputs<m>(parts.inputs, x, {}, n, s, parts.outside.zeros);
    for_slabs(s.o, FewTiles::kColumns, [&](std::int64_t first, std::int64_t count) {
      multiply_slab(parts, weight, {s.c, s.o, s.c, m, true}, first, count, n);
      WinogradShape some = s;
      some.o = count;
      store_outputs<m>(out + first, parts.results, parts.outside, {}, n, some, bias ? bias + first : nullptr,
                       epilogue);
    });
  });
}

void winograd_backward_input_few(float* grad_x, const float* grad_out, const float* weight,
                                 const WinogradShape& s, std::int64_t images, float* scratch) {
  const FewTiles parts(scratch, s, s.o, s.c);
  const std::int64_t n = images * s.tiles();
  fill_zeros(parts.outside.zeros, s.o);
  clear_rest(grad_x, s, images);
  with_tile(s.tile, [&]<int m>() {
    load_output_gradients<m>(parts.inputs, grad_out, {}, n, s, parts.outside.zeros);
    for_slabs(s.c, FewTiles::kColumns, [&](std::int64_t first, std::int64_t count) {
      multiply_slab(parts, weight, {s.o, s.c, s.all_c, m, false}, first, count, n);
      WinogradShape some = s;
      some.c = count;
      store_input_gradients<m>(grad_x + first, parts.results, parts.outside, {}, n, some);
    });
  });
}

// The gradient of filters `columns` for channels `rows`, at least kLanes of each, of their sums.
template <int m>
inline void store_weight_gradients(float* grad_weight, const float* sums, const WinogradShape& s,
                                   std::int64_t row, std::int64_t rows, std::int64_t column,
                                   std::int64_t columns) {
  const std::int64_t point = winograd_point(rows * columns);
  cover(columns, [&](std::int64_t o) {
    cover(rows, [&](std::int64_t c) {
      FilterSquare square;
      float* to = reinterpret_cast<float*>(square.cells);
      for (int r = 0; r < kLanes; ++r)
        store_filter_gradient<m>(to + r * kLanes, kLanes * kLanes, sums + (c + r) * columns + o, point);
      square.write(grad_weight, s.c, column + o, row + c);
    });
  });
}

void winograd_backward_weight_few(float* grad_weight, const float* grad_out, const float* x,
                                  const WinogradShape& s, std::int64_t images, float* scratch) {
  using Parts = FewGradientTiles;
  const Parts parts(scratch, s);
  const std::int64_t n = images * s.tiles();
  fill_zeros(parts.zeros, s.c > s.o ? s.c : s.o);
  with_tile(s.tile, [&]<int m>() {
    load_inputs<m>(parts.inputs, x, {}, n, s, parts.zeros);
    load_output_gradients<m>(parts.gradients, grad_out, {}, n, s, parts.zeros);
    for_slabs(s.o, Parts::kColumns, [&](std::int64_t column, std::int64_t columns) {
      for_slabs(s.c, Parts::kRows, [&](std::int64_t row, std::int64_t rows) {
        WinogradPoints inputs = parts.inputs, gradients = parts.gradients;
        inputs.values += row;
        gradients.values += column;
        accumulate_points(parts.sums, winograd_points(m), inputs, gradients, n, rows, columns, Into::nothing,
                          {});
        store_weight_gradients<m>(grad_weight, parts.sums, s, row, rows, column, columns);
      });
    });
  });
}

}  // namespace
}  // namespace ronde::inline v0
