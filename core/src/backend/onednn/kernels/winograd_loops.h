/// 3x3 convolutions with stride 1 by Winograd's F(m x m, 3x3): with m = 4, 5, 6 a convolution needs 0.25,
/// 0.22, 0.20 of the multiplications.
///
/// The m x m tiles of all images are numbered in one row. A block of them at a time is transformed,
/// multiplied (a matrix product for each of the (m + 2)^2 points) and transformed back in scratch that stays
/// in the second level cache. There are at least kLanes channels on both sides. What a tile becomes does not
/// depend on the block that it is in; the weight gradient adds up block by block.
#pragma once

#include "backend/onednn/kernels/winograd_few_tiles.h"
#include "backend/onednn/kernels/winograd_filters.h"
#include "backend/onednn/kernels/winograd_pooling.h"
#include "backend/onednn/kernels/winograd_products.h"
#include "backend/onednn/kernels/winograd_tiles.h"

namespace ronde::inline v0 {
namespace {

// Calls f(place, n) for block after block of the tiles.
template <class F>
inline void for_blocks(const WinogradShape& s, TileRange tiles, const F& f) {
  TilePlace place;
  place.advance_by(tiles.begin, s);
  for (std::int64_t begin = tiles.begin; begin < tiles.end; begin += s.block) {
    const std::int64_t n = tiles.end - begin < s.block ? tiles.end - begin : s.block;
    f(place, n);
    place.advance_by(n, s);
  }
}
template <class F>
inline void for_blocks(const WinogradShape& s, std::int64_t images, const F& f) {
  for_blocks(s, TileRange{0, images * s.tiles()}, f);
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
  return TiledRows{s.h, s.w * s.all_c, s.tile + 2, s.top, s.tile}.of(x, place, n, s);
}
inline Ahead output_of(const float* out, const TilePlace& place, std::int64_t n, const WinogradShape& s) {
  return TiledRows{s.oh, s.ow * s.all_o, s.tile, 0, s.tile}.of(out, place, n, s);
}
inline Ahead pooled_output_of(const float* out, const TilePlace& place, std::int64_t n,
                              const WinogradShape& s) {
  return TiledRows{s.oh / 2, s.ow / 2 * s.o, s.tile / 2, 0, s.tile / 2}.of(out, place, n, s);
}
inline Ahead input_after(const float* x, TilePlace place, std::int64_t n, const WinogradShape& s) {
  place.advance_by(n, s);
  return input_of(x, place, s.block, s);
}

// The products of a block's points, for its results to be stored; `out_ahead`: where they go.
template <int m>
inline void multiply_inputs(const WinogradBlock& block, const float* x, const float* u, TilePlace place,
                            std::int64_t n, const WinogradShape& s, const Ahead& out_ahead) {
  load_inputs<m>(block, x, place, n, s, block.outside.zeros);
  multiply_points(block.results, block, winograd_points(m), u, n, s.c, s.o, Into::nothing,
                  input_after(x, place, n, s), out_ahead);
}

void winograd_conv(float* out, const float* x, const float* u, const float* bias, const WinogradShape& s,
                   TileRange tiles, float* scratch, Epilogue epilogue) {
  const WinogradBlock block(scratch, s);
  fill_zeros(block.outside.zeros, block.pitch);
  with_tile(s.tile, [&]<int m>() {
    for_blocks(s, tiles, [&](TilePlace place, std::int64_t n) {
      multiply_inputs<m>(block, x, u, place, n, s, output_of(out, place, n, s));
      store_outputs<m>(out, block.results, block.outside, place, n, s, bias, epilogue);
    });
  });
}

void winograd_conv_pool(PooledOutput to, const float* x, const float* u, const float* bias,
                        const WinogradShape& s, std::int64_t images, float* scratch, Epilogue epilogue) {
  const WinogradBlock block(scratch, s);
  fill_zeros(block.outside.zeros, block.pitch);
  const auto run = [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      multiply_inputs<m>(block, x, u, place, n, s, pooled_output_of(to.out, place, n, s));
      store_pooled_outputs<m>(to, block.results, place, n, s, bias, epilogue);
    });
  };
  if (s.tile == 4) return run.template operator()<4>();
  run.template operator()<6>();
}

void winograd_backward_input(float* grad_x, const float* grad_out, const float* u, const WinogradShape& s,
                             std::int64_t images, float* scratch) {
  const WinogradBlock block(scratch, s);
  fill_zeros(block.outside.zeros, block.pitch);
  clear_rest(grad_x, s, images);
  with_tile(s.tile, [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      load_output_gradients<m>(block, grad_out, place, n, s, block.outside.zeros);
      multiply_points(block.results, block, winograd_points(m), u, n, s.o, s.c, Into::nothing, {},
                      input_of(grad_x, place, n, s));
      store_input_gradients<m>(grad_x, block.results, block.outside, place, n, s);
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
  fill_zeros(gradients.outside.zeros, gradients.pitch);
  if (grad_x) clear_rest(grad_x, s, images);
  with_tile(s.tile, [&]<int m>() {
    for_blocks(s, images, [&](TilePlace place, std::int64_t n) {
      load_inputs<m>(inputs, x, place, n, s, gradients.outside.zeros);
      load_output_gradients<m>(gradients, grad_out, place, n, s, gradients.outside.zeros);
      accumulate_points(sums, winograd_points(m), inputs, gradients, n, s.c, s.o, Into::sum,
                        input_after(x, place, n, s));
      if (grad_bias) add_bias_gradient<m>(grad_bias, gradients, n, s.o);
      if (!grad_x) return;
      multiply_points(gradients.results, gradients, winograd_points(m), u, n, s.o, s.c, Into::nothing, {},
                      input_of(grad_x, place, n, s));
      store_input_gradients<m>(grad_x, gradients.results, gradients.outside, place, n, s);
    });
  });
}

void winograd_weight_gradient(float* grad_weight, const float* sums, std::int64_t count, int tile) {
  const std::int64_t point = winograd_point(count);
  with_tile(tile, [&]<int m>() {
    cover(count, [=](std::int64_t k) { store_filter_gradient<m>(grad_weight + k, count, sums + k, point); });
  });
}

}  // namespace
}  // namespace ronde::inline v0
