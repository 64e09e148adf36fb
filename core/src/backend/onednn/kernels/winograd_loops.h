/// 3x3 convolutions with stride 1 by Winograd's F(m x m, 3x3): with m = 4, 5, 6 a convolution needs 0.25,
/// 0.22, 0.20 of the multiplications.
///
/// The m x m tiles of all images are numbered in one row. A block of them at a time is transformed,
/// multiplied (a matrix product for each of the (m + 2)^2 points) and transformed back in scratch that stays
/// in the second level cache. There are at least kLanes channels on both sides. What a tile becomes does not
/// depend on the block that it is in; the weight gradient adds up block by block.
#pragma once

#include "backend/onednn/kernels/winograd_pooling.h"
#include "backend/onednn/kernels/winograd_products.h"
#include "backend/onednn/kernels/winograd_tiles.h"

namespace ronde::inline v0 {
namespace {

inline void fill_zeros(float* values, std::int64_t n) {
  cover(n, [=](std::int64_t i) { store(values + i, Vector{}); });
}

// What no tile reaches, as the output is not the whole one: its gradient there is 0.
inline void clear_rest(float* grad_x, const WinogradShape& s, std::int64_t images) {
  const std::int64_t rows = s.tiles_h * s.tile + 2 - s.top, columns = s.tiles_w * s.tile + 2 - s.left;
  if (rows >= s.h && columns >= s.w) return;
  for (std::int64_t y = 0; y < images * s.h; ++y) {
    const std::int64_t first = y % s.h < rows ? columns : 0;
    if (first < s.w) fill_zeros(grad_x + (y * s.w + first) * s.c, (s.w - first) * s.c);
  }
}

// Calls f(place, n) for block after block of the images' tiles.
template <class F>
inline void for_blocks(const WinogradShape& s, std::int64_t images, const F& f) {
  const std::int64_t tiles = images * s.tiles_h * s.tiles_w;
  TilePlace place;
  for (std::int64_t begin = 0; begin < tiles; begin += s.block) {
    const std::int64_t n = tiles - begin < s.block ? tiles - begin : s.block;
    f(place, n);
    place.advance_by(n, s);
  }
}

// Images of `rows` rows with `row` elements each, of which tiles cover `size`, `top` being above the image.
struct TiledRows {
  std::int64_t rows, row, size, top, step;

  std::int64_t first_row(const TilePlace& place) const {
    const std::int64_t r = place.row * step - top;
    return place.image * rows + (r > 0 ? r : 0);
  }
  // What the n tiles from `place` on cover, but for rows that the tiles before them do.
  Ahead of(const float* x, TilePlace place, std::int64_t n, const WinogradShape& s) const {
    const std::int64_t begin = first_row(place) + size - step;
    place.advance_by(n - 1, s);
    const std::int64_t end = first_row(place) + size;
    return {x + begin * row, (end - begin) * row / 16};
  }
};

inline Ahead input_of(const float* x, const TilePlace& place, std::int64_t n, const WinogradShape& s) {
  return TiledRows{s.h, s.w * s.c, s.tile + 2, s.top, s.tile}.of(x, place, n, s);
}
inline Ahead output_of(const float* out, const TilePlace& place, std::int64_t n, const WinogradShape& s) {
  return TiledRows{s.oh, s.ow * s.o, s.tile, 0, s.tile}.of(out, place, n, s);
}
inline Ahead pooled_output_of(const float* out, const TilePlace& place, std::int64_t n,
                              const WinogradShape& s) {
  return TiledRows{s.oh / 2, s.ow / 2 * s.o, s.tile / 2, 0, s.tile / 2}.of(out, place, n, s);
}
inline Ahead input_after(const float* x, TilePlace place, std::int64_t n, const WinogradShape& s) {
  place.advance_by(n, s);
  return input_of(x, place, s.block, s);
}

// Calls f<m>() for tiles of m x m.
template <class F>
inline void with_tile(int m, const F& f) {
  if (m == 4) return f.template operator()<4>();
  if (m == 5) return f.template operator()<5>();
  f.template operator()<6>();
}

// Note [Packed filters] in winograd_products.h
void winograd_weights(float* u, const float* weight, std::int64_t row, std::int64_t depth,
                      std::int64_t columns, int tile) {
  const std::int64_t point = winograd_filter_point(depth, columns, kLanes);
  with_tile(tile, [&]<int m>() {
    for_columns(columns, [&]<int vectors>(std::int64_t column, std::int64_t place) {
      for (int v = 0; v < vectors; ++v) {
        const float* from = weight + column + v * kLanes;
        float* to = u + place * depth + (row * vectors + v) * kLanes;
        transform_tile<FilterTransform<m>>(
            [&](int i, int j) { return load(from + (i * 3 + j) * columns); },
            [&](int i, int j, Vector x) { store(to + (i * (m + 2) + j) * point, x); });
      }
    });
  });
}

// The products of a block's points, for its results to be stored; `out_ahead`: where they go.
template <int m>
inline void multiply_inputs(const WinogradBlock& block, const float* x, const float* u, TilePlace place,
                            std::int64_t n, const WinogradShape& s, const Ahead& out_ahead) {
  load_inputs<m>(block, x, place, n, s, block.zeros);
  multiply_points(block, winograd_points(m), u, n, s.c, s.o, input_after(x, place, n, s), out_ahead);
}

void winograd_conv(float* out, const float* x, const float* u, const float* bias, const WinogradShape& s,
                   std::int64_t images, float* scratch, Epilogue epilogue) {
  const WinogradBlock block(scratch, s);
  fill_zeros(block.zeros, block.pitch);
  with_tile(s.tile, [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      multiply_inputs<m>(block, x, u, place, n, s, output_of(out, place, n, s));
      store_outputs<m>(out, block, place, n, s, bias, epilogue);
    });
  });
}

void winograd_conv_pool(PooledOutput to, const float* x, const float* u, const float* bias,
                        const WinogradShape& s, std::int64_t images, float* scratch, Epilogue epilogue) {
  const WinogradBlock block(scratch, s);
  fill_zeros(block.zeros, block.pitch);
  const auto run = [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      multiply_inputs<m>(block, x, u, place, n, s, pooled_output_of(to.out, place, n, s));
      store_pooled_outputs<m>(to, block, place, n, s, bias, epilogue);
    });
  };
  if (s.tile == 4) return run.template operator()<4>();
  run.template operator()<6>();
}

void winograd_backward_input(float* grad_x, const float* grad_out, const float* u, const WinogradShape& s,
                             std::int64_t images, float* scratch) {
  const WinogradBlock block(scratch, s);
  fill_zeros(block.zeros, block.pitch);
  clear_rest(grad_x, s, images);
  with_tile(s.tile, [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      load_output_gradients<m>(block, grad_out, place, n, s, block.zeros);
      multiply_points(block, winograd_points(m), u, n, s.o, s.c, {}, input_of(grad_x, place, n, s));
      store_input_gradients<m>(grad_x, block, place, n, s);
    });
  });
}

// At the point (1, 1) the transformed gradient is the sum over its tile.
template <int m>
inline void add_bias_gradient(float* grad_bias, const WinogradPoints& gradients, std::int64_t n,
                              std::int64_t o) {
  static_assert(Pairs<m>::p[0] == 1);
  constexpr int kOne = Points<m>::plus(0);
  const float* at_one = gradients.values + kOne * (m + 2 + 1) * gradients.point;
  cover_once(o, [=](std::int64_t k, IntVector fresh) {
    Vector sum{};
    for (std::int64_t t = 0; t < n; ++t) sum += load(at_one + t * gradients.pitch + k);
    store(grad_bias + k, load(grad_bias + k) + masked(fresh, sum));
  });
}

// The output's gradient is transformed once for both gradients.
void winograd_backward(float* sums, float* grad_bias, float* grad_x, const float* grad_out, const float* x,
                       const float* u, const WinogradShape& s, std::int64_t images, float* scratch) {
  const WinogradBlock gradients(scratch, s);
  const WinogradPoints inputs(scratch + WinogradBlock::count(s), s, s.c);
  fill_zeros(gradients.zeros, gradients.pitch);
  if (grad_x) clear_rest(grad_x, s, images);
  with_tile(s.tile, [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      load_inputs<m>(inputs, x, place, n, s, gradients.zeros);
      load_output_gradients<m>(gradients, grad_out, place, n, s, gradients.zeros);
      accumulate_points(sums, winograd_points(m), inputs, gradients, n, s.c, s.o,
                        input_after(x, place, n, s));
      if (grad_bias) add_bias_gradient<m>(grad_bias, gradients, n, s.o);
      if (!grad_x) return;
      multiply_points(gradients, winograd_points(m), u, n, s.o, s.c, {}, input_of(grad_x, place, n, s));
      store_input_gradients<m>(grad_x, gradients, place, n, s);
    });
  });
}

void winograd_weight_gradient(float* grad_weight, const float* sums, std::int64_t count, int tile) {
  const std::int64_t point = winograd_point(count);
  with_tile(tile, [&]<int m>() {
    cover(count, [=](std::int64_t k) {
      transform_tile<FilterGradientTransform<m>>(
          [&](int i, int j) { return load(sums + (i * (m + 2) + j) * point + k); },
          [&](int i, int j, Vector v) { store(grad_weight + (i * 3 + j) * count + k, v); });
    });
  });
}

}  // namespace
}  // namespace ronde::inline v0
