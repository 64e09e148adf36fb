/// Convolutions with stride 1 by tiles, for what is rounded to bfloat16: Note [Frames] in tile_shape.h.
///
///     sums (pixel, o) += frame (pixel + tap, c) * weight (tap, c, o)
///
/// The gradient of the image is a forward pass of the result's gradient with the filters turned round.
#pragma once

#include "backend/onednn/kernels/tile_registers.h"
#include "backend/onednn/kernels/tile_results.h"

namespace ronde::inline v0 {
namespace {

void tile_frame(std::uint16_t* frame, const std::uint16_t* image, const TileConvShape& s) {
  const PixelPlaces to = s.in_frame();
  const std::int64_t rows = s.vertical().used(), columns = s.horizontal().used();
  for (std::int64_t y = 0; y < rows; ++y) {
    std::uint16_t* row = frame + to.first + y * to.row_pitch;
    const std::uint16_t* from = image + y * s.w * s.c;
    if (s.pitch() == s.c)
      copy_values(row, from, columns * s.c);
    else
      for (std::int64_t x = 0; x < columns; ++x) copy_values(row + x * s.pitch(), from + x * s.c, s.c);
  }
}

void tile_conv_weights(std::uint16_t* tiles, const std::uint16_t* weight, const TileConvShape& s,
                       bool is_turned, std::int64_t begin, std::int64_t end) {
  std::uint16_t room[kTileElements];
  const std::int64_t taps = s.taps(), depth = s.tap_depth(), pitch = taps * (is_turned ? s.o : depth);
  tiles += begin * s.filter_elements();
  for (std::int64_t o = begin * kTileColumns; o < at_most(s.o, end * kTileColumns); o += kTileColumns)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t c = 0; c < depth; c += kTileDepth, tiles += kTileElements)
        if (is_turned)
          pack_pairs(tiles, filled_up<std::uint16_t>({weight + c * pitch + (taps - 1 - tap) * s.o + o, pitch},
                                                     depth - c, s.o - o, kTileDepth, kTileColumns, room));
        else
          pack_transposed_pairs(
              tiles, filled_up<std::uint16_t>({weight + o * pitch + tap * depth + c, pitch}, s.o - o,
                                              depth - c, kTileColumns, kTileDepth, room));
}

// What becomes of the sums of a pixel's `columns` tiles of filters. Copied whenever some pixels are finished:
// in registers the compiler keeps only what no pointer can reach.
template <int columns>
struct PixelResult {
  TileConvResult to;
  std::int64_t filter, filters;  // the first one, and how many are left from there on
  bool has_relu;
  Vector bias[columns];

  PixelResult(const TileConvResult& result, const float* of_filters, std::int64_t first, std::int64_t left,
              Epilogue epilogue)
      : to(result), filter(first), filters(left), has_relu(epilogue == Epilogue::relu) {
    for (int c = 0; c < columns; ++c)
      bias[c] =
          of_filters ? load_first(of_filters + first + c * kTileColumns, left - c * kTileColumns) : Vector{};
  }

  [[gnu::always_inline]] void write(std::int64_t pixel, const float* sums) const {
    RowResults<columns> results(filters);
#pragma GCC unroll 2
    for (int c = 0; c < columns; ++c) {
      Vector y = load(sums + c * kTileColumns) + bias[c];
      if (has_relu) y = positive_part(y);
      if (to.passing) y = masked(passes(pixel, c), y);
      results.y[c] = y;
    }
    results.write(to.floats, to.halves, to.places[pixel] + filter);
  }

 private:
  [[gnu::always_inline]] IntVector passes(std::int64_t pixel, int c) const {
    return widened(to.passing + to.passing_places[pixel] + filter + c * kTileColumns) > Vector{};
  }
};

// Blocks of 32 pixels by `columns` tiles' filters. While tiles of one are multiplied, the one before it
// becomes results, a few pixels at a time: other parts of the processor do that.
template <int columns>
class PixelBlocks {
 public:
  explicit PixelBlocks(const PixelResult<columns>& result) : result_(result) {}

  static constexpr std::int64_t kPitch = columns * kTileColumns;
  /// For the sums of the next block.
  float* room() { return sums_[turn_]; }
  /// They are there, those of pixels [begin, end) of the frame; all results of the block before are.
  void take(std::int64_t begin, std::int64_t end) {
    waiting_ = sums_[turn_];
    turn_ = 1 - turn_;
    pixel_ = begin;
    end_ = end;
  }
  void finish(std::int64_t pixels) {
    const PixelResult<columns> result = result_;
    const float* sums = waiting_;
    std::int64_t pixel = pixel_;
    for (const std::int64_t end = at_most(end_, pixel + pixels); pixel < end; ++pixel, sums += kPitch)
      result.write(pixel, sums);
    waiting_ = sums;
    pixel_ = pixel;
  }

 private:
  const PixelResult<columns> result_;
  alignas(64) float sums_[2][2 * kTileRows * kPitch];
  int turn_ = 0;
  const float* waiting_ = nullptr;
  std::int64_t pixel_ = 0, end_ = 0;
};

void tile_conv(const TileConvResult& to, const std::uint16_t* frame, const std::uint16_t* weights,
               const float* bias, const TileConvShape& s, Epilogue epilogue) {
  const Tiles tiles;
  const std::int64_t pitch = s.pitch(), row = s.frame_w(), tap_rows = s.kh, tap_columns = s.tap_columns(),
                     depth_tiles = s.depth_tiles(), filter_tile = s.filter_elements(), pixels = s.pixels(),
                     used_pixels = s.used_pixels(),
                     at_once = tiles_for(2 * kTileRows, tap_rows * tap_columns * depth_tiles);
  for_pairs(s.column_tiles(), [&]<int columns>(std::int64_t column) {
    PixelBlocks<columns> blocks({to, bias, column * kTileColumns, s.o - column * kTileColumns, epilogue});
    for (std::int64_t pixel = 0; pixel < pixels; pixel += 2 * kTileRows) {
      clear_sums<2, columns>(tiles);
      const std::uint16_t* right = weights + column * filter_tile;
      for (std::int64_t y = 0; y < tap_rows; ++y)
        for (std::int64_t x = 0; x < tap_columns; ++x) {
          const std::uint16_t* left = frame + (pixel + y * row + x) * pitch;
          for (std::int64_t d = 0; d < depth_tiles; ++d, left += kTileDepth, right += kTileElements) {
            add_products<2, columns>(tiles, {left, right, kTileRows * pitch, filter_tile, pitch});
            blocks.finish(at_once);
          }
        }
      store_sums<2, columns>(tiles, {blocks.room(), kTileRows * blocks.kPitch, kTileColumns}, blocks.kPitch);
      blocks.take(pixel, at_most(pixel + 2 * kTileRows, used_pixels));
    }
    blocks.finish(2 * kTileRows);
  });
}

}  // namespace
}  // namespace ronde::inline v0
