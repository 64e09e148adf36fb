/// Sizes that Winograd's kernels and their caller agree on; see winograd_loops.h.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

/// A 3x3 convolution with stride 1 of images (h, w, c) -> (oh, ow, o), and the 4x4 tiles of an output image.
struct WinogradShape {
  std::int64_t h, w, c, oh, ow, o;
  std::int64_t top, left;  ///< padding
  std::int64_t tiles_h, tiles_w;
};

constexpr int kWinogradPoints = 36;
/// Tiles of a block. 24 was best of 12, 24, 36 and 48 for 32 and 64 channels.
constexpr std::int64_t kWinogradTiles = 24;

/// Elements from one point's matrix to the next: an odd number of cache lines, so that the points do not
/// compete for the same places in the cache.
constexpr std::int64_t winograd_point(std::int64_t elements) {
  const std::int64_t lines = (elements + 15) / 16;
  return (lines + (lines % 2 == 0 ? 1 : 0)) * 16;
}

/// The parts of the scratch of a pass with activations on both sides.
struct WinogradBlock {
  WinogradBlock(float* scratch, std::int64_t c, std::int64_t o)
      : pitch(c > o ? c : o),
        values(scratch),
        rows(values + kWinogradPoints * point()),
        zeros(rows + kWinogradTiles * pitch),
        dump(zeros + pitch) {}

  std::int64_t point() const { return winograd_point(kWinogradTiles * pitch); }
  static std::int64_t count(std::int64_t c, std::int64_t o) {
    const std::int64_t most = c > o ? c : o;
    return kWinogradPoints * winograd_point(kWinogradTiles * most) + (kWinogradTiles + 2) * most;
  }

  std::int64_t pitch;  ///< elements of a tile's row: those of input or output, whichever are more
  float* values;       ///< (point, tile, pitch)
  float* rows;         ///< (tile, pitch): a copy of one point's
  float* zeros;        ///< (pitch): pixels outside the image
  float* dump;         ///< (pitch): where results outside the image go
};

/// Elements of `count` values at each point.
constexpr std::int64_t winograd_points(std::int64_t count) {
  return kWinogradPoints * winograd_point(count);
}

/// Scratch of the weight gradient: a block of transformed inputs, one of gradients, zeros.
constexpr std::int64_t winograd_gradient_scratch(std::int64_t c, std::int64_t o) {
  return winograd_points(kWinogradTiles * c) + winograd_points(kWinogradTiles * o) + (c > o ? c : o);
}

}  // namespace ronde::inline v0
