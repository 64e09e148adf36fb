#include <algorithm>
#include <cmath>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/data/pixel_augmentations.h>

namespace ronde::inline v0 {
namespace {

/// The value for channel c: one value serves all.
double of_channel(const std::vector<double>& values, std::int64_t c) {
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
}

}  // namespace

RandomBrightness::RandomBrightness(RandomBrightnessOptions options) : options_(options) {
  const auto [low, high] = options.brightness_range;
  require<UsageError>(0.0 <= low && low <= high && std::isfinite(high),
                      "[augmentation] brightness_range must be ascending and not negative, got ", low, " to ",
                      high);
  require<UsageError>(options.value_range[0] < options.value_range[1],
                      "[augmentation] value_range must be ascending, got ", options.value_range[0], " to ",
                      options.value_range[1]);
}

void RandomBrightness::apply(const Tensor& image, AugmentationRandom& random) const {
  const double factor = random.uniform(options_.brightness_range[0], options_.brightness_range[1]);
  visit_real(image.dtype(), "augmentation", [&](auto real) {
    using T = decltype(real);
    const auto f = static_cast<T>(factor);
    const auto low = static_cast<T>(options_.value_range[0]), high = static_cast<T>(options_.value_range[1]);
    T* x = image.data<T>();
    for (std::int64_t i = 0; i < image.count(); ++i) x[i] = std::min(std::max(x[i] * f, low), high);
  });
}

Cutout::Cutout(CutoutOptions options) : options_(options) {
  require<UsageError>(options.size >= 1, "[augmentation] cutout size must be at least 1, got ", options.size);
}

void Cutout::apply(const Tensor& image, AugmentationRandom& random) const {
  require(image.rank() == 3, "[augmentation] expects a picture (h, w, c), got ", image.shape());
  const std::int64_t h = image.size(0), w = image.size(1), c = image.size(2);
  const std::int64_t top = random.below(h) - options_.size / 2, left = random.below(w) - options_.size / 2;
  const std::int64_t x0 = std::max<std::int64_t>(left, 0), x1 = std::min(left + options_.size, w);
  const std::int64_t y0 = std::max<std::int64_t>(top, 0), y1 = std::min(top + options_.size, h);
  visit_real(image.dtype(), "augmentation", [&](auto real) {
    using T = decltype(real);
    for (std::int64_t y = y0; y < y1; ++y)
      std::fill_n(image.data<T>() + (y * w + x0) * c, (x1 - x0) * c, static_cast<T>(options_.value));
  });
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

void Normalize::apply(const Tensor& image, AugmentationRandom&) const {
  const std::int64_t channels = image.rank() > 0 ? image.shape().back() : 1;
  for (const std::size_t given : {mean_.size(), factor_.size()})
    require(given == 1 || static_cast<std::int64_t>(given) == channels, "[augmentation] normalize has ",
            counted(given, "value"), " for ", counted(channels, "channel"));
  visit_real(image.dtype(), "augmentation", [&](auto real) {
    using T = decltype(real);
    const std::int64_t pixels = image.count() / channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto mean = static_cast<T>(of_channel(mean_, c)), factor = static_cast<T>(of_channel(factor_, c));
      T* x = image.data<T>() + c;
      for (std::int64_t i = 0; i < pixels; ++i) x[i * channels] = (x[i * channels] - mean) * factor;
    }
  });
}

}  // namespace ronde::inline v0
