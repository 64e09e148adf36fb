#include <cmath>

#include <ronde/core/error.h>
#include <ronde/data/pixel_augmentations.h>

namespace ronde::inline v0 {
RandomBrightness::RandomBrightness(RandomBrightnessOptions options) : options_(options) {
  const auto [low, high] = options.brightness_range;
  require<UsageError>(0.0 <= low && low <= high && std::isfinite(high),
                      "[augmentation] brightness_range must be ascending and not negative, got ", low, " to ",
                      high);
  require<UsageError>(options.value_range[0] < options.value_range[1],
                      "[augmentation] value_range must be ascending, got ", options.value_range[0], " to ",
                      options.value_range[1]);
}

bool RandomBrightness::plan(PictureChanges& changes, AugmentationRandom& random) const {
  changes.multiply(random.uniform(options_.brightness_range[0], options_.brightness_range[1]),
                   options_.value_range[0], options_.value_range[1]);
  return true;
}

Cutout::Cutout(CutoutOptions options) : options_(options) {
  require<UsageError>(options.size >= 1, "[augmentation] cutout size must be at least 1, got ", options.size);
}

bool Cutout::plan(PictureChanges& changes, AugmentationRandom& random) const {
  const Shape& shape = changes.picture_shape();
  const std::int64_t top = random.below(shape[0]) - options_.size / 2;
  const std::int64_t left = random.below(shape[1]) - options_.size / 2;
  changes.cover({.top = top, .bottom = top + options_.size, .left = left, .right = left + options_.size},
                options_.value);
  return true;
}

Normalize::Normalize(const NormalizeOptions& options) : mean_(options.mean) {
  require<UsageError>(!mean_.empty() && !options.standard_deviation.empty(),
                      "[augmentation] normalize expects a mean and a standard deviation");
  for (const double deviation : options.standard_deviation) {
    require<UsageError>(deviation > 0.0, "[augmentation] a standard deviation must be positive, got ",
                        deviation);
    factor_.push_back(1.0 / deviation);
  }
}

bool Normalize::plan(PictureChanges& changes, AugmentationRandom&) const {
  changes.normalize(mean_, factor_);
  return true;
}

}  // namespace ronde::inline v0
