#include <cmath>
#include <numbers>

#include <ronde/core/error.h>
#include <ronde/data/geometric_augmentations.h>

namespace ronde::inline v0 {
namespace {

void require_range(double range, const char* name) {
  require<UsageError>(std::isfinite(range) && range >= 0.0, "[augmentation] ", name,
                      " must not be negative, got ", range);
}

/// U(-range, range) in pixels; a range below 1 is a part of `extent`.
double draw_shift(double range, std::int64_t extent, AugmentationRandom& random) {
  const double pixels = range < 1.0 ? range * static_cast<double>(extent) : range;
  return random.uniform(-pixels, pixels);
}

double draw_angle(double range, AugmentationRandom& random) {
  return random.uniform(-range, range) * std::numbers::pi / 180.0;
}

}  // namespace

RandomShift::RandomShift(RandomShiftOptions options) : options_(options) {
  require_range(options.width_shift_range, "width_shift_range");
  require_range(options.height_shift_range, "height_shift_range");
}

AffineMap RandomShift::draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const {
  const double x = draw_shift(options_.width_shift_range, width, random);
  const double y = draw_shift(options_.height_shift_range, height, random);
  return {.x0 = x, .y0 = y};
}

AffineMap RandomFlip::draw(std::int64_t, std::int64_t, AugmentationRandom& random) const {
  const bool horizontal = random.coin(), vertical = random.coin();
  return {.xx = options_.horizontal_flip && horizontal ? -1.0 : 1.0,
          .yy = options_.vertical_flip && vertical ? -1.0 : 1.0};
}

AffineMap AlternatingFlip::draw(std::int64_t, std::int64_t, AugmentationRandom& random) const {
  const bool begins_flipped = random.of_all_epochs().coin();
  const bool is_odd = random.epoch() % 2 != 0;
  return {.xx = begins_flipped != is_odd ? -1.0 : 1.0};
}

RandomCrop::RandomCrop(RandomCropOptions options) : options_(options) {
  require<UsageError>(options.padding >= 0, "[augmentation] padding must not be negative, got ",
                      options.padding);
}

AffineMap RandomCrop::draw(std::int64_t, std::int64_t, AugmentationRandom& random) const {
  const auto shift = [&] {
    return static_cast<double>(random.below(2 * options_.padding + 1) - options_.padding);
  };
  const double x = shift(), y = shift();
  return {.x0 = x, .y0 = y};
}

RandomRotation::RandomRotation(RandomRotationOptions options) : options_(options) {
  require_range(options.rotation_range, "rotation_range");
}

AffineMap RandomRotation::draw(std::int64_t, std::int64_t, AugmentationRandom& random) const {
  const double angle = draw_angle(options_.rotation_range, random);
  const double cosine = std::cos(angle), sine = std::sin(angle);
  return {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine};
}

RandomShear::RandomShear(RandomShearOptions options) : options_(options) {
  require_range(options.shear_range, "shear_range");
}

AffineMap RandomShear::draw(std::int64_t, std::int64_t, AugmentationRandom& random) const {
  const double angle = draw_angle(options_.shear_range, random);
  return {.xy = -std::sin(angle), .yy = std::cos(angle)};
}

RandomZoom::RandomZoom(RandomZoomOptions options) : options_(options) {
  const ZoomRange& range = options.zoom_range;
  require<UsageError>(std::isfinite(range.upper) && 0.0 < range.lower && range.lower <= range.upper,
                      "[augmentation] zoom_range must be positive and ascending, got ", range.lower, " to ",
                      range.upper);
}

AffineMap RandomZoom::draw(std::int64_t, std::int64_t, AugmentationRandom& random) const {
  const double x = random.uniform(options_.zoom_range.lower, options_.zoom_range.upper);
  const double y = random.uniform(options_.zoom_range.lower, options_.zoom_range.upper);
  return {.xx = x, .yy = y};
}

}  // namespace ronde::inline v0
