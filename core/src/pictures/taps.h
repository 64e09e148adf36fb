/// The arithmetic of a picture's changes, for the CPU and for GPUs: compiled without fused multiply-adds they
/// give the same bits.
#pragma once

#include <ronde/core/picture_steps.h>

namespace ronde::inline v0 {

/// The same map between pixels that are counted from the corner.
constexpr AffineMap from_corner(AffineMap map, std::int64_t height, std::int64_t width) {
  const double cx = static_cast<double>(width - 1) / 2, cy = static_cast<double>(height - 1) / 2;
  map.x0 += cx - map.xx * cx - map.xy * cy;
  map.y0 += cy - map.yx * cx - map.yy * cy;
  return map;
}

/// Whether rows and columns do not depend on each other.
constexpr bool is_separable(const AffineMap& map) {
  return map.xy == 0.0 && map.yx == 0.0;
}

/// A place on an axis: whole + part, 0 <= part < 1.
struct Position {
  std::int64_t whole = 0;
  double part = 0.0;
};

constexpr Position position_of(double coordinate) {
  auto whole = static_cast<std::int64_t>(coordinate);
  if (static_cast<double>(whole) > coordinate) --whole;
  return {whole, coordinate - static_cast<double>(whole)};
}

/// Where the pixels of an axis of a separable map come from.
struct Axis {
  double start = 0.0;
  double step = 1.0;  ///< not negative: mirrored pictures are made from the other end
  bool is_mirrored = false;
  std::int64_t size = 0;

  constexpr Axis(double scale, double offset, std::int64_t extent)
      : start(scale < 0.0 ? offset + scale * static_cast<double>(extent - 1) : offset),
        step(scale < 0.0 ? -scale : scale),
        is_mirrored(scale < 0.0),
        size(extent) {}

  /// The i-th before it is mirrored. At a step of 1 all lie at the same distance from a pixel, exactly.
  constexpr Position unmirrored(std::int64_t i) const {
    if (step != 1.0) return position_of(start + step * static_cast<double>(i));
    const Position first = position_of(start);
    return {first.whole + i, first.part};
  }
  constexpr Position at(std::int64_t i) const { return unmirrored(is_mirrored ? size - 1 - i : i); }
};

/// Where pixel (y, x) comes from by any map.
constexpr Position column_of(const AffineMap& map, std::int64_t y, std::int64_t x) {
  return position_of(map.xx * static_cast<double>(x) + map.xy * static_cast<double>(y) + map.x0);
}
constexpr Position row_of(const AffineMap& map, std::int64_t y, std::int64_t x) {
  return position_of(map.yx * static_cast<double>(x) + map.yy * static_cast<double>(y) + map.y0);
}

/// The value at a place of an axis: from + weight * (to - from). A negative index: the fill's value.
template <class T>
struct Tap {
  std::int64_t from = 0, to = 0;
  T weight = 0;
};

/// Index of the pixel that stands at index i, which may lie beyond the border.
constexpr std::int64_t extend(std::int64_t i, std::int64_t size, FillMode mode) {
  if (mode != FillMode::reflect) return i < 0 ? 0 : (i < size ? i : size - 1);
  i %= 2 * size;
  if (i < 0) i += 2 * size;
  return i < size ? i : 2 * size - 1 - i;
}

template <class T>
constexpr Tap<T> tap_at(const Position& at, std::int64_t size, FillMode mode) {
  const bool is_between = at.part != 0.0;
  if (mode == FillMode::constant && (at.whole < 0 || at.whole + is_between > size - 1)) return {-1, -1, 0};
  const std::int64_t from = extend(at.whole, size, mode);
  return {from, is_between ? extend(at.whole + 1, size, mode) : from, static_cast<T>(at.part)};
}

template <class T>
constexpr T mix(T from, T to, T weight) {
  return from + weight * (to - from);
}

template <class T>
constexpr T multiplied(T value, T factor, T low, T high) {
  const T product = value * factor;
  const T raised = product < low ? low : product;
  return high < raised ? high : raised;
}

template <class T>
constexpr T normalized(T value, T mean, T factor) {
  return (value - mean) * factor;
}

/// The move that a step's numbers say, and its fill.
constexpr AffineMap map_of(const double* numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}
constexpr int kMoveNumbers = 7;
constexpr double fill_value_of(const double* numbers) {
  return numbers[6];
}

}  // namespace ronde::inline v0
