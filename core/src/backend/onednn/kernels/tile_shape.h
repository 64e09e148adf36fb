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
/// inner dimension, at most so many.
constexpr std::int64_t kTileStrip = 256, kTileStripColumns = 256, kDeepestTileStrip = 1024;
/// Scratch of a product, in floats: both operands in tiles, and the sums.
constexpr std::int64_t kTileProductScratch =
    (kTileStrip + kTileStripColumns) * kDeepestTileStrip / 2 + kTileStrip * kTileStripColumns;

/// The same of a product of floats: Note [Floats in parts] in tile_float_products.h.
constexpr std::int64_t kFloatTileRows = 32, kFloatTileColumns = 512, kFloatTileDepth = 128;
constexpr std::int64_t kFloatTileScratch = (kFloatTileRows + kFloatTileColumns) * kFloatTileDepth * 3 / 2;

struct ImageShape {
  std::int64_t h, w, c;
};

/// Where the channels of a pixel (row, column) of an image begin: first + image * image_pitch + row *
/// row_pitch + column * pixel_pitch, in elements.
struct PixelPlaces {
  std::int64_t first, image_pitch, row_pitch, pixel_pitch;
};

/// Rows or columns of an image in a frame: Note [Frames].
struct FrameSide {
  std::int64_t size, results, taps, padding;  ///< padding in front of the first one

  /// Those that results are made of.
  constexpr std::int64_t used() const { return size < reach() ? size : reach(); }
  /// From the first one to that of what lies behind.
  constexpr std::int64_t step() const {
    const std::int64_t behind = reach() - used(), least = used() + (padding > behind ? padding : behind);
    return results > least ? results : least;
  }

 private:
  // From the first one to the end of what the last result is made of.
  constexpr std::int64_t reach() const { return results + taps - 1 - padding; }
};

/// A convolution with stride 1 of an image (h, w, c) -> (oh, ow, o); the result may be the first rows and
/// columns of the whole one. Note [Frames]: the image lies in a frame of zeros whose pixels are numbered in
/// one row. So each tap of a filter is an offset, and any 16 pixels one behind the other are the rows of a
/// tile. The zeros behind a row of the image are the padding on its right and that on the next one's left,
/// for which the wider of both is enough. What is computed for them is thrown away.
///
/// A pixel fills whole tiles, with zeros behind its channels. Few channels, of a first layer, lie one pixel
/// directly behind the other: there a row of a filter is one tap, and what it reads behind its kw * c values
/// is multiplied by 0.
///
/// Several images may lie one below the other, again with the higher of both paddings between them: so small
/// ones fill whole tiles, and many filters pass by once for all of them.
struct TileConvShape {
  std::int64_t h, w, c, oh, ow, o, kh, kw;
  std::int64_t top, left;  ///< padding
  std::int64_t images = 1;

  constexpr bool has_few_channels() const { return c < kTileColumns && kw * c <= kTileDepth; }
  constexpr std::int64_t taps() const { return kh * tap_columns(); }
  constexpr std::int64_t tap_depth() const { return has_few_channels() ? kw * c : c; }
  constexpr FrameSide vertical() const { return {h, oh, kh, top}; }
  constexpr FrameSide horizontal() const { return {w, ow, kw, left}; }
  /// From an image, or a row, to the next.
  constexpr std::int64_t frame_h() const { return vertical().step(); }
  /// Rows that lie a power of two apart meet at the same places of the first level cache.
  constexpr std::int64_t frame_w() const {
    const std::int64_t least = horizontal().step();
    return least % 32 == 0 && least > horizontal().used() ? least + 1 : least;
  }
  constexpr std::int64_t tap_columns() const { return has_few_channels() ? 1 : kw; }
  /// Of the frame, up to the last one for which there is a result; and in blocks of two tiles' rows.
  constexpr std::int64_t used_pixels() const {
    return ((images - 1) * frame_h() + oh - 1) * frame_w() + ow;
  }
  constexpr std::int64_t pixels() const { return tiles_for(used_pixels(), 32) * 32; }
  constexpr std::int64_t frame_pixels() const {
    return tiles_for(pixels() + (kh - 1) * frame_w() + tap_columns() - 1, 32) * 32;
  }
  constexpr std::int64_t depth_tiles() const { return tiles_for(tap_depth(), kTileDepth); }
  constexpr std::int64_t pitch() const { return has_few_channels() ? c : depth_tiles() * kTileDepth; }
  constexpr std::int64_t column_tiles() const { return tiles_for(o, kTileColumns); }
  /// Behind the frame's pixels there is one more, which stays 0.
  constexpr std::int64_t zero_pixel() const { return frame_pixels() * pitch(); }
  constexpr std::int64_t frame_elements() const { return zero_pixel() + depth_tiles() * kTileDepth; }
  /// Of a column tile.
  constexpr std::int64_t filter_elements() const { return taps() * depth_tiles() * kTileElements; }
  /// Of the image in its frame.
  constexpr PixelPlaces in_frame() const {
    const std::int64_t row = frame_w() * pitch();
    return {top * row + left * pitch(), frame_h() * row, row, pitch()};
  }
  /// Of a result that lies by itself.
  constexpr PixelPlaces dense_result() const { return {0, oh * ow * o, ow * o, o}; }
  constexpr TileConvShape with_images(std::int64_t count) const {
    TileConvShape s = *this;
    s.images = count;
    return s;
  }

  // --- the filters' gradient
  constexpr std::int64_t channel_tiles() const { return tiles_for(tap_depth(), kTileColumns); }
  constexpr std::int64_t sum_elements() const {
    return taps() * channel_tiles() * column_tiles() * kTileSums;
  }
  /// A column tile's values for all pairs of pixels of the frame.
  constexpr std::int64_t pair_elements() const { return frame_pixels() / 2 * kTileDepth; }
  /// bfloat16: the frame in pairs, from either pixel on, and the result's gradient by channels.
  constexpr std::int64_t gradient_scratch() const {
    return 2 * channel_tiles() * pair_elements() + column_tiles() * kTileRows * pixels();
  }
};

}  // namespace ronde::inline v0
