/// Augmentations that move pixels, with the names and defaults of Keras' ImageDataGenerator.
///
/// Ranges are drawn from uniformly and per picture. Sources: Keras' ImageDataGenerator; for RandomCrop, He et
/// al., "Deep residual learning", CVPR 2016, 4.2.
#pragma once

#include <ronde/data/augmentation.h>

namespace ronde::inline v0 {

struct RandomShiftOptions {
  double width_shift_range = 0.0;  ///< below 1 a part of the width, else pixels; to the left or right
  double height_shift_range = 0.0;
  Fill fill = {};
};

/// Moves the picture by U(-range, range), not only by whole pixels.
class RONDE_API RandomShift : public GeometricAugmentation {
 public:
  explicit RandomShift(RandomShiftOptions options);
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;
  const Fill* fill() const override { return &options_.fill; }

 private:
  RandomShiftOptions options_;
};

struct RandomFlipOptions {
  bool horizontal_flip = false;  ///< left becomes right, every other time
  bool vertical_flip = false;    ///< top becomes bottom, every other time
};

class RONDE_API RandomFlip : public GeometricAugmentation {
 public:
  explicit RandomFlip(RandomFlipOptions options) : options_(options) {}
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;

 private:
  RandomFlipOptions options_;
};

/// Flips horizontally in every other pass over the data: which pictures begin as they are is drawn once. So
/// each pass shows the images that the pass before did not. Source: Jordan, "94% on CIFAR-10 in 3.29
/// seconds", 2024.
class RONDE_API AlternatingFlip : public GeometricAugmentation {
 public:
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;
};

/// One map for all pictures, as for the views of test_time_views.h.
class RONDE_API FixedMap : public GeometricAugmentation {
 public:
  explicit FixedMap(const AffineMap& map, Fill fill = {}) : map_(map), fill_(fill) {}
  AffineMap draw(std::int64_t, std::int64_t, AugmentationRandom&) const override { return map_; }
  const Fill* fill() const override { return &fill_; }

 private:
  AffineMap map_;
  Fill fill_;
};

struct RandomCropOptions {
  std::int64_t padding = 4;  ///< pixels on each side
  Fill fill = {.mode = FillMode::constant};
};

/// Pads the picture and cuts a piece of its own size out: a shift by whole pixels.
class RONDE_API RandomCrop : public GeometricAugmentation {
 public:
  explicit RandomCrop(RandomCropOptions options = {});
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;
  const Fill* fill() const override { return &options_.fill; }

 private:
  RandomCropOptions options_;
};

struct RandomRotationOptions {
  double rotation_range = 0.0;  ///< degrees, to either side
  Fill fill = {};
};

class RONDE_API RandomRotation : public GeometricAugmentation {
 public:
  explicit RandomRotation(RandomRotationOptions options);
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;
  const Fill* fill() const override { return &options_.fill; }

 private:
  RandomRotationOptions options_;
};

struct RandomShearOptions {
  double shear_range = 0.0;  ///< degrees, to either side
  Fill fill = {};
};

class RONDE_API RandomShear : public GeometricAugmentation {
 public:
  explicit RandomShear(RandomShearOptions options);
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;
  const Fill* fill() const override { return &options_.fill; }

 private:
  RandomShearOptions options_;
};

/// z means [1 - z, 1 + z].
struct ZoomRange {
  double lower = 1.0, upper = 1.0;
  constexpr ZoomRange(double range = 0.0) : lower(1.0 - range), upper(1.0 + range) {}
  constexpr ZoomRange(double low, double high) : lower(low), upper(high) {}
};

struct RandomZoomOptions {
  ZoomRange zoom_range = {};  ///< of the visible part: above 1 the picture gets smaller
  Fill fill = {};
};

/// Width and height are drawn separately.
class RONDE_API RandomZoom : public GeometricAugmentation {
 public:
  explicit RandomZoom(RandomZoomOptions options);
  AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const override;
  const Fill* fill() const override { return &options_.fill; }

 private:
  RandomZoomOptions options_;
};

}  // namespace ronde::inline v0
