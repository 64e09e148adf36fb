/// Convolutions with stride 1 of one image by tiles, for what is rounded to bfloat16: Note [Frames] in
/// tile_shape.h.
///
///     forward     sums (pixel, o) += frame (pixel + tap, c) * weight (tap, c, o)
///     filters     sums (tap, c, o) += frame (pixel + tap, c)^T * grad_out (pixel, o)
///
/// The gradient of the image is a forward pass of grad_out with the filters turned round.
#pragma once

#include "backend/onednn/kernels/tile_products.h"
#include "backend/onednn/kernels/tile_registers.h"

namespace ronde::inline v0 {
namespace {

// n floats as bfloat16.
inline void round_row(std::uint16_t* to, const float* from, std::int64_t n) {
  std::int64_t k = 0;
  for (; k + kTileDepth <= n; k += kTileDepth)
    store_pairs(to + k, Tiles::rounded(load(from + k), load(from + k + kLanes)));
  if (k < n) to_bfloat16(to + k, from + k, n - k);
}

// A frame's pixel among those of its rows.
struct FramePlace {
  std::int64_t row, column;
  void advance(const TileConvShape& s) {
    if (++column < s.frame_w()) return;
    column = 0;
    ++row;
  }
  bool has_result(const TileConvShape& s) const { return row < s.oh && column < s.ow; }
};

void tile_frame(std::uint16_t* frame, const float* image, const TileConvShape& s) {
  const std::int64_t frame_h = s.oh + s.kh - 1;
  const std::int64_t rows = at_most(s.h, frame_h - s.top), columns = at_most(s.w, s.frame_w() - s.left);
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < columns; ++x)
      round_row(frame + ((y + s.top) * s.frame_w() + x + s.left) * s.pitch(), image + (y * s.w + x) * s.c,
                s.c);
}

void tile_conv_weights(std::uint16_t* weights, const float* by_tap, const TileConvShape& s) {
  std::uint16_t block[kTileElements];
  for (std::int64_t o = 0; o < s.o; o += kTileColumns)
    for (std::int64_t tap = 0; tap < s.taps(); ++tap)
      for (std::int64_t c = 0; c < s.pitch(); c += kTileDepth, weights += kTileElements) {
        for (std::uint16_t& value : block) value = 0;
        for (std::int64_t k = 0; k < at_most(s.c - c, kTileDepth); ++k)
          round_row(block + k * kTileColumns, by_tap + (tap * s.c + c + k) * s.o + o,
                    at_most(s.o - o, kTileColumns));
        pack_pairs(weights, {block, kTileColumns});
      }
}

// One tile's pixels, the first of which is at `place`, and 16 filters.
inline void finish_pixels(float* out, const float* sums, FramePlace place, const float* bias,
                          const TileConvShape& s, Epilogue epilogue) {
  const Vector b = bias ? load(bias) : Vector{};
  for (std::int64_t i = 0; i < kTileRows; ++i, sums += kTileColumns, place.advance(s)) {
    if (!place.has_result(s)) continue;
    const Vector y = load(sums) + b;
    store(out + (place.row * s.ow + place.column) * s.o, epilogue == Epilogue::relu ? positive_part(y) : y);
  }
}

// The same of the last filters, which fill no vector.
inline void finish_last_pixels(float* out, const float* sums, FramePlace place, std::int64_t filters,
                               const float* bias, const TileConvShape& s, Epilogue epilogue) {
  for (std::int64_t i = 0; i < kTileRows; ++i, sums += kTileColumns, place.advance(s))
    if (place.has_result(s))
      finish_row({out, nullptr, 0}, (place.row * s.ow + place.column) * s.o, sums, filters, bias, epilogue);
}

void tile_conv(float* out, const std::uint16_t* frame, const std::uint16_t* weights, const float* bias,
               const TileConvShape& s, Epilogue epilogue) {
  const Tiles tiles;
  alignas(64) float sums[4 * kTileSums];
  const std::int64_t pitch = s.pitch(), filter_tile = s.taps() * s.depth_tiles() * kTileElements;
  for_pairs(s.column_tiles(), [&]<int columns>(std::int64_t column) {
    for (std::int64_t pixel = 0; pixel < s.pixels(); pixel += 2 * kTileRows) {
      clear_sums<2, columns>(tiles);
      const std::uint16_t* right = weights + column * filter_tile;
      for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
        const std::uint16_t* left = frame + (pixel + s.tap_offset(tap)) * pitch;
        for (std::int64_t d = 0; d < s.depth_tiles(); ++d, left += kTileDepth, right += kTileElements)
          add_products<2, columns>(tiles, {left, right, kTileRows * pitch, filter_tile, pitch});
      }
      store_sums<2, columns>(tiles, {sums, columns * kTileSums, kTileSums});
      for (int tile = 0; tile < 2 * columns; ++tile) {
        const std::int64_t first = pixel + tile / columns * kTileRows,
                           o = (column + tile % columns) * kTileColumns;
        const FramePlace place{first / s.frame_w(), first % s.frame_w()};
        const float* b = bias ? bias + o : nullptr;
        if (s.o - o >= kTileColumns)
          finish_pixels(out + o, sums + tile * kTileSums, place, b, s, epilogue);
        else
          finish_last_pixels(out + o, sums + tile * kTileSums, place, s.o - o, b, s, epilogue);
      }
    }
  });
}

inline void add_columns(float* sums, const float* values, std::int64_t rows, std::int64_t columns) {
  cover_once(columns, [&](std::int64_t c, IntVector fresh) {
    Vector sum{};
    for (std::int64_t r = 0; r < rows; ++r) sum += load(values + r * columns + c);
    store(sums + c, load(sums + c) + masked(fresh, sum));
  });
}

// The operands of a gradient.
class GradientOperands {
 public:
  GradientOperands(const float* grad_out, const float* x, const TileConvShape& s, std::uint16_t* scratch)
      : shape_(s),
        frame_(scratch),
        channels_(frame_ + s.frame_elements()),
        gradient_(channels_ + s.channel_tiles() * kTileRows * s.channel_pitch()),
        gradient_tiles_(gradient_ + s.pixels() * s.gradient_pitch()) {
    tile_frame(frame_, x, s);
    make_channels();
    make_gradient(grad_out);
  }

  TileOperands at(std::int64_t tap, std::int64_t channel_tile, std::int64_t column_tile) const {
    const std::int64_t pitch = shape_.channel_pitch(), column = shape_.pixels() / kTileDepth * kTileElements;
    return {channels_ + channel_tile * kTileRows * pitch + shape_.tap_offset(tap),
            gradient_tiles_ + column_tile * column, kTileRows * pitch, column, pitch};
  }

 private:
  // The frame transposed: (channel, pixel).
  void make_channels() const {
    const std::int64_t pitch = shape_.channel_pitch();
    for (std::int64_t pixel = 0; pixel < shape_.frame_pixels(); pixel += kTileDepth)
      for (std::int64_t c = 0; c < shape_.channel_tiles() * kTileRows; c += kTileRows)
        pack_transposed_rows(channels_ + c * pitch + pixel, pitch,
                             {frame_ + pixel * shape_.pitch() + c, shape_.pitch()});
  }
  // Right tiles (column tile, pixels).
  void make_gradient(const float* grad_out) const {
    const std::int64_t pitch = shape_.gradient_pitch();
    for (std::int64_t y = 0; y < shape_.oh; ++y)
      for (std::int64_t x = 0; x < shape_.ow; ++x)
        round_row(gradient_ + (y * shape_.frame_w() + x) * pitch, grad_out + (y * shape_.ow + x) * shape_.o,
                  shape_.o);
    std::uint16_t* to = gradient_tiles_;
    for (std::int64_t o = 0; o < pitch; o += kTileColumns)
      for (std::int64_t pixel = 0; pixel < shape_.pixels(); pixel += kTileDepth, to += kTileElements)
        pack_pairs(to, {gradient_ + pixel * pitch + o, pitch});
  }

  const TileConvShape& shape_;
  std::uint16_t *frame_, *channels_, *gradient_, *gradient_tiles_;
};

void add_tile_conv_gradient(float* sums, float* grad_bias, const float* grad_out, const float* x,
                            const TileConvShape& s, std::uint16_t* scratch) {
  const GradientOperands operands(grad_out, x, s, scratch);
  if (grad_bias) add_columns(grad_bias, grad_out, s.oh * s.ow, s.o);
  const Tiles tiles;
  for (std::int64_t tap = 0; tap < s.taps(); ++tap)
    for_pairs(s.channel_tiles(), [&]<int rows>(std::int64_t row) {
      for_pairs(s.column_tiles(), [&]<int columns>(std::int64_t column) {
        const TileSums to{sums + ((tap * s.channel_tiles() + row) * s.column_tiles() + column) * kTileSums,
                          s.column_tiles() * kTileSums, kTileSums};
        load_sums<rows, columns>(tiles, to);
        TileOperands from = operands.at(tap, row, column);
        for (std::int64_t pixel = 0; pixel < s.pixels(); pixel += kTileDepth) {
          add_products<rows, columns>(tiles, from);
          from.left += kTileDepth;
          from.right += kTileElements;
        }
        store_sums<rows, columns>(tiles, to);
      });
    });
}

void tile_conv_gradient(float* grad_weight, const float* sums, const TileConvShape& s) {
  for (std::int64_t tap = 0; tap < s.taps(); ++tap)
    for (std::int64_t c = 0; c < s.channel_tiles() * kTileRows; c += kTileRows)
      for (std::int64_t o = 0; o < s.o; o += kTileColumns, sums += kTileSums)
        for (std::int64_t r = 0; r < at_most(s.c - c, kTileRows); ++r)
          for (std::int64_t i = 0; i < at_most(s.o - o, kTileColumns); ++i)
            grad_weight[(tap * s.c + c + r) * s.o + o + i] = sums[r * kTileColumns + i];
}

}  // namespace
}  // namespace ronde::inline v0
