/// The changes of one picture, in place.
#pragma once

#include <span>

#include <ronde/core/picture_steps.h>

namespace ronde::inline v0 {

struct PictureExtent {
  std::int64_t h = 0, w = 0, c = 0;
  std::int64_t count() const { return h * w * c; }
};

/// `numbers`: a row, of all steps. T: float or double.
template <class T>
void change_picture(T* picture, const PictureExtent& extent, std::span<const PictureStep> steps,
                    const double* numbers);

/// `out` and `in` must not overlap.
template <class T>
void resample_picture(T* out, const T* in, const PictureExtent& extent, const AffineMap& map,
                      const Fill& fill);

}  // namespace ronde::inline v0
