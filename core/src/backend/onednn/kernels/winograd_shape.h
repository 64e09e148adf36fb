/// Sizes that Winograd's kernels and their caller agree on; see winograd_loops.h.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

/// The size of an image.
struct WinogradImage {
  std::int64_t h, w, c;
  constexpr std::int64_t elements() const { return h * w * c; }
};

/// A 3x3 convolution with stride 1 of images (h, w, c) -> (oh, ow, o), and the tiles of an output image. The
/// output may be the first rows and columns of the whole one.
struct WinogradShape {
  std::int64_t h, w, c, oh, ow, o;
  std::int64_t all_c, all_o;  ///< channels of a pixel in memory, of which these c and o may be some
  std::int64_t top, left;     ///< padding
  int tile;                   ///< output pixels on a side: 4, 5 or 6
  std::int64_t tiles_h, tiles_w;
  std::int64_t block;  ///< tiles that are transformed and multiplied together; a multiple of 12

  constexpr std::int64_t tiles() const { return tiles_h * tiles_w; }  // of an image
  constexpr WinogradImage input() const { return {h, w, all_c}; }
  constexpr WinogradImage output() const { return {oh, ow, all_o}; }
};

/// Some of the tiles of a batch, which are numbered in one row.
struct TileRange {
  std::int64_t begin, end;
};

/// Each of them has a matrix of its own.
constexpr int winograd_points(int tile) {
  return (tile + 2) * (tile + 2);
}

/// Elements from one point's matrix to the next: an odd number of cache lines, so that the points do not
/// compete for the same places in the cache.
constexpr std::int64_t winograd_point(std::int64_t elements) {
  const std::int64_t lines = (elements + 15) / 16;
  return (lines + (lines % 2 == 0 ? 1 : 0)) * 16;
}

/// Elements from one tile's channels to the next tile's: whole vectors. Many channels lie an odd number of
/// cache lines apart, for the same reason.
constexpr std::int64_t winograd_pitch(std::int64_t channels) {
  return channels < 128 ? (channels + 15) / 16 * 16 : winograd_point(channels);
}

/// Elements from one point's transformed filters to the next's: columns fill whole vectors of `lanes`.
constexpr std::int64_t winograd_filter_point(std::int64_t depth, std::int64_t columns, std::int64_t lanes) {
  return winograd_point(depth * ((columns + lanes - 1) / lanes * lanes));
}

/// Filters as (depth, 3, 3, columns), or `by_column`, as those of a forward pass lie: (columns, 3, 3, depth).
struct WinogradFilters {
  std::int64_t depth, columns;
  std::int64_t pitch;  ///< elements from a cell of a filter to the next
  int tile;
  bool by_column;
};

/// Transformed tiles of a block: (point, tile, channel).
struct WinogradPoints {
  WinogradPoints(float* memory, const WinogradShape& s, std::int64_t channels)
      : pitch(winograd_pitch(channels)), point(winograd_point(s.block * pitch)), values(memory) {}
  static constexpr std::int64_t count(const WinogradShape& s, std::int64_t channels) {
    return winograd_points(s.tile) * winograd_point(s.block * winograd_pitch(channels));
  }

  std::int64_t pitch, point;  ///< elements from a tile, a point to the next
  float* values;
};

/// What no pixel of an image is read from or written to.
struct OutsidePixels {
  OutsidePixels(float* memory, std::int64_t pitch) : zeros(memory), dump(memory + pitch) {}
  static constexpr std::int64_t count(std::int64_t pitch, int tile) {
    return 2 * pitch + winograd_points(tile) * kDumpStep;
  }

  float* zeros;  ///< (pitch): pixels outside the image
  /// Where results outside the image go, a line for each pixel: in one, each would wait for the one before
  /// it.
  float* dump;
  static constexpr std::int64_t kDumpStep = 16;
};

/// The parts of the scratch of a pass with activations on both sides. The products of a point go where the
/// values of the point before it were, which nothing needs any more.
struct WinogradBlock : WinogradPoints {
  WinogradBlock(float* scratch, const WinogradShape& s)
      : WinogradPoints(scratch, s, widest(s)),
        results(*this),
        outside(scratch + (winograd_points(s.tile) + 1) * point, pitch) {
    values = results.values + point;
  }

  static constexpr std::int64_t widest(const WinogradShape& s) { return s.c > s.o ? s.c : s.o; }
  static constexpr std::int64_t count(const WinogradShape& s) {
    return WinogradPoints::count(s, widest(s)) + winograd_point(s.block * winograd_pitch(widest(s))) +
           OutsidePixels::count(winograd_pitch(widest(s)), s.tile);
  }

  WinogradPoints results;  ///< in the same memory
  OutsidePixels outside;
};

/// Channels that the last ones made at once may be more, so that there are at least a vector's of them.
constexpr std::int64_t kMostOver = 16;

/// The parts of the scratch of a pass whose tiles are all in one block. Note [Few tiles] in
/// winograd_few_tiles.h.
struct FewTiles {
  static constexpr std::int64_t kDepth = 64, kColumns = 64;  ///< of the filters that are transformed at once
  static constexpr std::int64_t kMostColumns = kColumns + kMostOver;

  /// `from`, `to`: channels of what is transformed first and last.
  FewTiles(float* scratch, const WinogradShape& s, std::int64_t from, std::int64_t to)
      : inputs(scratch, s, from),
        results(scratch + WinogradPoints::count(s, from), s, least(to)),
        filters(results.values + WinogradPoints::count(s, least(to))),
        outside(filters + winograd_points(s.tile) * winograd_point(kDepth * kMostColumns), pitch(from, to)) {}
  static constexpr std::int64_t count(const WinogradShape& s, std::int64_t from, std::int64_t to) {
    return WinogradPoints::count(s, from) + WinogradPoints::count(s, least(to)) +
           winograd_points(s.tile) * winograd_point(kDepth * kMostColumns) +
           OutsidePixels::count(pitch(from, to), s.tile);
  }

  WinogradPoints inputs, results;
  float* filters;
  OutsidePixels outside;

 private:
  static constexpr std::int64_t least(std::int64_t to) { return to < kMostColumns ? to : kMostColumns; }
  static constexpr std::int64_t pitch(std::int64_t from, std::int64_t to) {
    return winograd_pitch(from > to ? from : to);
  }
};

/// The parts of the scratch of the weight gradient of such a pass.
struct FewGradientTiles {
  static constexpr std::int64_t kRows = 32, kColumns = 64;  ///< channels, filters whose sums are made at once
  static constexpr std::int64_t kMostRows = kRows + kMostOver, kMostColumns = kColumns + kMostOver;

  FewGradientTiles(float* scratch, const WinogradShape& s)
      : inputs(scratch, s, s.c),
        gradients(scratch + WinogradPoints::count(s, s.c), s, s.o),
        sums(gradients.values + WinogradPoints::count(s, s.o)),
        zeros(sums + winograd_points(s.tile) * winograd_point(kMostRows * kMostColumns)) {}
  static constexpr std::int64_t count(const WinogradShape& s) {
    return WinogradPoints::count(s, s.c) + WinogradPoints::count(s, s.o) +
           winograd_points(s.tile) * winograd_point(kMostRows * kMostColumns) +
           winograd_pitch(s.c > s.o ? s.c : s.o);
  }

  WinogradPoints inputs, gradients;
  float *sums, *zeros;  ///< zeros: pixels outside the image
};

/// Elements of the weight gradient's sums, `count` at each point.
constexpr std::int64_t winograd_sums(int tile, std::int64_t count) {
  return winograd_points(tile) * winograd_point(count);
}

/// Scratch of a pass that makes the weight gradient: a block of gradients, one of transformed inputs.
constexpr std::int64_t winograd_gradient_scratch(const WinogradShape& s) {
  return WinogradBlock::count(s) + WinogradPoints::count(s, s.c);
}

}  // namespace ronde::inline v0
