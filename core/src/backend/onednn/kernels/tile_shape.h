/// Sizes that the tile kernels and their caller agree on; see tile_loops.h.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

/// A tile has 16 rows of 64 bytes: of operands 32 bfloat16, of sums 16 floats.
constexpr std::int64_t kTileRows = 16, kTileDepth = 32, kTileColumns = 16;
constexpr std::int64_t kTileElements = kTileRows * kTileDepth, kTileSums = kTileRows * kTileColumns;

constexpr std::int64_t tiles_for(std::int64_t n, std::int64_t size) {
  return (n + size - 1) / size;
}

/// What goes through the second level cache together in a product: rows of a, columns of b, and values of the
/// inner dimension.
constexpr std::int64_t kTileStrip = 256, kTileStripColumns = 256, kTileStripDepth = 512;
/// Scratch of a product, in floats: both operands in tiles, and the sums.
constexpr std::int64_t kTileProductScratch =
    (kTileStrip + kTileStripColumns) * kTileStripDepth / 2 + kTileStrip * kTileStripColumns;

/// A convolution with stride 1 of an image (h, w, c) -> (oh, ow, o); the result may be the first rows and
/// columns of the whole one. Note [Frames]: the image lies in a frame of zeros, as wide as the filters need
/// it, and the frame's pixels are numbered in one row. So each tap of a filter is an offset, and any 16
/// pixels one behind the other are the rows of a tile. What is computed for the last kw - 1 pixels of a row
/// of the frame is thrown away.
struct TileConvShape {
  std::int64_t h, w, c, oh, ow, o, kh, kw;
  std::int64_t top, left;  ///< padding

  constexpr std::int64_t taps() const { return kh * kw; }
  constexpr std::int64_t frame_w() const { return ow + kw - 1; }
  constexpr std::int64_t tap_offset(std::int64_t tap) const { return tap / kw * frame_w() + tap % kw; }
  /// Of the frame, for which there are results: a multiple of two tiles' rows.
  constexpr std::int64_t pixels() const { return tiles_for((oh - 1) * frame_w() + ow, 32) * 32; }
  constexpr std::int64_t frame_pixels() const {
    return tiles_for(pixels() + tap_offset(taps() - 1), 32) * 32;
  }
  /// A pixel of the frame fills whole tiles.
  constexpr std::int64_t depth_tiles() const { return tiles_for(c, kTileDepth); }
  constexpr std::int64_t pitch() const { return depth_tiles() * kTileDepth; }
  constexpr std::int64_t column_tiles() const { return tiles_for(o, kTileColumns); }
  constexpr std::int64_t frame_elements() const { return frame_pixels() * pitch(); }
  constexpr std::int64_t weight_elements() const {
    return column_tiles() * taps() * depth_tiles() * kTileElements;
  }

  // --- the filters' gradient
  constexpr std::int64_t channel_tiles() const { return tiles_for(c, kTileRows); }
  /// From one channel of the transposed frame to the next: an odd number of cache lines, which then do not
  /// compete for the same places in the cache.
  constexpr std::int64_t channel_pitch() const {
    const std::int64_t lines = frame_pixels() / 32;
    return (lines + (lines % 2 == 0 ? 1 : 0)) * 32;
  }
  constexpr std::int64_t gradient_pitch() const { return column_tiles() * kTileColumns; }
  constexpr std::int64_t sum_elements() const {
    return taps() * channel_tiles() * column_tiles() * kTileSums;
  }
  /// bfloat16: the frame, the same by channels, the result's gradient in a frame and in tiles.
  constexpr std::int64_t gradient_scratch() const {
    return frame_elements() + channel_tiles() * kTileRows * channel_pitch() + 2 * pixels() * gradient_pitch();
  }
};

}  // namespace ronde::inline v0
