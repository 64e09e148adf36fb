#include "pictures/change_picture.h"

#include <algorithm>
#include <vector>

#include "pictures/taps.h"

namespace ronde::inline v0 {

namespace {

template <class T>
void move(T* picture, const PictureExtent& extent, const PictureStep& step, const double* numbers) {
  const AffineMap map = map_of(numbers);
  if (map == AffineMap{}) return;
  const std::vector<T> before(picture, picture + extent.count());
  resample_picture(picture, before.data(), extent, map, {.mode = step.fill, .value = fill_value_of(numbers)});
}

template <class T>
void multiply(T* picture, const PictureExtent& extent, const double* numbers) {
  const auto factor = static_cast<T>(numbers[0]), low = static_cast<T>(numbers[1]),
             high = static_cast<T>(numbers[2]);
  const std::int64_t count = extent.count();
  for (std::int64_t i = 0; i < count; ++i) picture[i] = multiplied(picture[i], factor, low, high);
}

template <class T>
void normalize(T* picture, const PictureExtent& extent, const double* numbers) {
  const std::int64_t channels = extent.c, pixels = extent.h * extent.w;
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto mean = static_cast<T>(numbers[c]), factor = static_cast<T>(numbers[channels + c]);
    T* x = picture + c;
    for (std::int64_t i = 0; i < pixels; ++i) x[i * channels] = normalized(x[i * channels], mean, factor);
  }
}

template <class T>
void cover(T* picture, const PictureExtent& extent, const double* numbers) {
  const auto top = static_cast<std::int64_t>(numbers[0]), bottom = static_cast<std::int64_t>(numbers[1]),
             left = static_cast<std::int64_t>(numbers[2]), right = static_cast<std::int64_t>(numbers[3]);
  for (std::int64_t y = top; y < bottom; ++y)
    std::fill_n(picture + (y * extent.w + left) * extent.c, (right - left) * extent.c,
                static_cast<T>(numbers[4]));
}

}  // namespace

template <class T>
void change_picture(T* picture, const PictureExtent& extent, std::span<const PictureStep> steps,
                    const double* numbers) {
  for (const PictureStep& step : steps) {
    const double* own = numbers + step.first;
    switch (step.kind) {
      case PictureStep::Kind::move:
        move(picture, extent, step, own);
        break;
      case PictureStep::Kind::multiply:
        multiply(picture, extent, own);
        break;
      case PictureStep::Kind::normalize:
        normalize(picture, extent, own);
        break;
      case PictureStep::Kind::cover:
        cover(picture, extent, own);
        break;
    }
  }
}

template void change_picture(float*, const PictureExtent&, std::span<const PictureStep>, const double*);
template void change_picture(double*, const PictureExtent&, std::span<const PictureStep>, const double*);

}  // namespace ronde::inline v0
