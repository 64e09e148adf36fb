/// PictureChanges: what becomes of a picture, step by step, before it is done.
///
///     PictureChanges changes(image.shape());
///     changes.move({.x0 = 2.5}, Fill{.mode = FillMode::reflect});
///     changes.cover({.top = 0, .bottom = 8, .left = 4, .right = 12}, 0.0);
///     changes.apply(image);
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <ronde/core/picture_steps.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// Looks up with `inner` first: the map of a picture changed by `outer` and then by `inner`.
RONDE_API AffineMap operator*(const AffineMap& outer, const AffineMap& inner);

/// Fills `out` (h, w, c) with what `map` finds in `in` of the same shape; f32 or f64, dense and in host
/// memory; they must not overlap.
RONDE_API void resample(const Tensor& out, const Tensor& in, const AffineMap& map, const Fill& fill = {});

/// Rows and columns of a picture; the ends are outside.
struct Rectangle {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

class RONDE_API PictureChanges {
 public:
  /// Of a picture (h, w, c); of other shapes the last extent counts as channels, and values can only be
  /// multiplied and normalised.
  explicit PictureChanges(const Shape& shape);

  /// (h, w, c); an error where samples are no pictures.
  const Shape& picture_shape() const;

  /// Moves that follow each other become one, which interpolates once, unless their fills differ. Without a
  /// fill it must not look beyond the border (a flip).
  void move(const AffineMap& map, const std::optional<Fill>& fill);
  /// min(max(v * factor, low), high).
  void multiply(double factor, double low, double high);
  /// (v - mean) * factor; one of each for all channels, or one for each.
  void normalize(std::span<const double> mean, std::span<const double> factor);
  void cover(const Rectangle& part, double value);
  void clear();

  /// Makes the changes; `image` has the shape, is f32 or f64, dense and in host memory.
  void apply(const Tensor& image) const;

  std::span<const PictureStep> steps() const { return steps_; }
  /// Of all steps: a row.
  std::span<const double> numbers() const { return numbers_; }
  /// The steps, if a kernel takes them: Backend::change_pictures.
  std::optional<PictureSteps> steps_of_kernel() const;

 private:
  double* add(PictureStep::Kind kind, std::size_t numbers);

  Shape shape_;
  std::vector<PictureStep> steps_;
  std::vector<double> numbers_;
  bool fill_is_open_ = false;  // the last step is a move, and any fill will do
};

}  // namespace ronde::inline v0
