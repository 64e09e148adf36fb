/// The extents of a tensor, outermost first: images are (n, h, w, c).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

/// Up to eight extents, by value and without allocation. Rank 0 is a scalar. Also used for strides and axes.
class RONDE_API Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  /// Extent of `axis`; a negative axis counts from the end. An error for an axis that there is not.
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(wrap(axis))]; }
  std::int64_t& operator[](int axis) { return extents_[static_cast<std::size_t>(wrap(axis))]; }
  std::int64_t back() const { return (*this)[-1]; }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }
  /// Product of the extents; 1 for a scalar. An error where it is no std::int64_t.
  std::int64_t count() const;
  void push_back(std::int64_t extent);
  /// This shape without its first axis, with another one in its place.
  Shape with_batch(std::int64_t n) const;
  /// This shape behind a new first axis: that of `n` samples of this shape.
  Shape batch_of(std::int64_t n) const;
  /// (n, steps, ...) -> (n * steps, ...)
  Shape steps_as_batch() const;
  /// The extents from axis `from` on.
  Shape tail(int from) const;
  bool operator==(const Shape& other) const;

 private:
  int wrap(int axis) const {
    if (axis < -rank_ || axis >= rank_) [[unlikely]]
      refuse(axis);
    return axis < 0 ? axis + rank_ : axis;
  }
  [[noreturn]] void refuse(int axis) const;

  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// "(128, 26, 26, 32)"
RONDE_API std::string to_string(const Shape& shape);
/// Strides, in elements, of a dense row-major tensor of this shape.
RONDE_API Shape row_major_strides(const Shape& shape);
/// The shape that `a` and `b` broadcast to by NumPy's rule; an error that carries both when they do not.
RONDE_API Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace ronde::inline v0
