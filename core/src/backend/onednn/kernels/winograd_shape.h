/// Sizes that Winograd's kernels and their caller agree on; see winograd_loops.h.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

/// A 3x3 convolution with stride 1 of images (h, w, c) -> (oh, ow, o), and the 4x4 tiles of an output image.
struct WinogradShape {
  std::int64_t h, w, c, oh, ow, o;
  std::int64_t top, left;  ///< padding
  std::int64_t tiles_h, tiles_w;
  std::int64_t block;  ///< tiles that are transformed and multiplied together; a multiple of 12
};

constexpr int kWinogradPoints = 36;

/// Elements from one point's matrix to the next: an odd number of cache lines, so that the points do not
/// compete for the same places in the cache.
constexpr std::int64_t winograd_point(std::int64_t elements) {
  const std::int64_t lines = (elements + 15) / 16;
  return (lines + (lines % 2 == 0 ? 1 : 0)) * 16;
}

/// Elements from one tile's channels to the next tile's. Many channels lie an odd number of cache lines
/// apart, for the same reason.
constexpr std::int64_t winograd_pitch(std::int64_t channels) {
  return channels < 128 ? channels : winograd_point(channels);
}

/// Elements from one point's transformed filters to the next's: columns fill whole vectors of `lanes`.
constexpr std::int64_t winograd_filter_point(std::int64_t depth, std::int64_t columns, std::int64_t lanes) {
  return winograd_point(depth * ((columns + lanes - 1) / lanes * lanes));
}

/// Transformed tiles of a block: (point, tile, channel).
struct WinogradPoints {
  WinogradPoints(float* memory, std::int64_t tiles, std::int64_t channels)
      : pitch(winograd_pitch(channels)), point(winograd_point(tiles * pitch)), values(memory) {}
  static constexpr std::int64_t count(std::int64_t tiles, std::int64_t channels) {
    return kWinogradPoints * winograd_point(tiles * winograd_pitch(channels));
  }

  std::int64_t pitch, point;  ///< elements from a tile, a point to the next
  float* values;
};

/// The parts of the scratch of a pass with activations on both sides.
struct WinogradBlock : WinogradPoints {
  WinogradBlock(float* scratch, const WinogradShape& s)
      : WinogradPoints(scratch, s.block, widest(s)),
        rows(values + kWinogradPoints * point),
        zeros(rows + s.block * pitch),
        dump(zeros + pitch) {}

  static std::int64_t widest(const WinogradShape& s) { return s.c > s.o ? s.c : s.o; }
  static std::int64_t count(const WinogradShape& s) {
    return WinogradPoints::count(s.block, widest(s)) + (s.block + 2) * winograd_pitch(widest(s));
  }

  float* rows;   ///< (tile, pitch): a copy of one point's
  float* zeros;  ///< (pitch): pixels outside the image
  float* dump;   ///< (pitch): where results outside the image go
};

/// Elements of `count` values at each point.
constexpr std::int64_t winograd_points(std::int64_t count) {
  return kWinogradPoints * winograd_point(count);
}

/// Scratch of the weight gradient: a block of transformed inputs, one of gradients, zeros.
constexpr std::int64_t winograd_gradient_scratch(const WinogradShape& s) {
  return WinogradPoints::count(s.block, s.c) + WinogradPoints::count(s.block, s.o) + (s.c > s.o ? s.c : s.o);
}

}  // namespace ronde::inline v0
