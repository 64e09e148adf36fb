/// What becomes of a picture (h, w, c), as plain data: so that the changes of a batch can be drawn ahead and
/// a device make them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ronde::inline v0 {

/// Where an output pixel comes from: x' = xx x + xy y + x0, y' = yx x + yy y + y0, in pixels from the middle
/// of the picture, x to the right and y downwards.
struct AffineMap {
  double xx = 1.0, xy = 0.0, x0 = 0.0;
  double yx = 0.0, yy = 1.0, y0 = 0.0;
  bool operator==(const AffineMap&) const = default;
};

/// What lies beyond a picture's border: of a row abcd
enum class FillMode : std::int32_t {
  nearest,   ///< aaaa|abcd|dddd
  constant,  ///< kkkk|abcd|kkkk, k = fill_value, without a transition
  reflect,   ///< dcba|abcd|dcba
};

struct Fill {
  FillMode mode = FillMode::nearest;
  double value = 0.0;  ///< of FillMode::constant
  bool operator==(const Fill&) const = default;
};

/// One change of a picture. Its numbers are part of a row that holds those of all steps.
struct PictureStep {
  enum class Kind : std::int32_t {
    move,       ///< bilinear interpolation by an AffineMap (xx xy x0 yx yy y0); then the fill's value
    multiply,   ///< factor, low, high: min(max(v * factor, low), high)
    normalize,  ///< a mean for each channel, then a factor for each: (v - mean) * factor
    cover,      ///< a rectangle's top, bottom, left and right (the ends are outside), and its new value
  };

  Kind kind = Kind::move;
  FillMode fill = FillMode::nearest;  ///< of a move
  std::int32_t first = 0;             ///< where its numbers begin in a row
  bool operator==(const PictureStep&) const = default;
};

/// The steps of each picture of a batch, as many as a kernel takes.
struct PictureSteps {
  static constexpr int kMost = 8;  ///< one of them a move

  std::array<PictureStep, kMost> steps{};
  std::int32_t count = 0;
  std::int32_t numbers = 0;  ///< in a row

  std::span<const PictureStep> all() const { return {steps.data(), static_cast<std::size_t>(count)}; }
};

}  // namespace ronde::inline v0
