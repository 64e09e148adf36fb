/// Augmentations that change the values of pixels where they are.
#pragma once

#include <array>
#include <vector>

#include <ronde/data/augmentation.h>

namespace ronde::inline v0 {

struct RandomBrightnessOptions {
  std::array<double, 2> brightness_range = {1.0, 1.0};  ///< factor; 0 is black, 1 changes nothing
  std::array<double, 2> value_range = {0.0, 1.0};       ///< results are cut to it
};

/// Multiplies all values of a picture by U(brightness_range).
class RONDE_API RandomBrightness : public PlannedAugmentation {
 public:
  explicit RandomBrightness(RandomBrightnessOptions options);
  bool plan(PictureChanges& changes, AugmentationRandom& random) const override;

 private:
  RandomBrightnessOptions options_;
};

struct CutoutOptions {
  std::int64_t size = 16;  ///< side of the square, in pixels
  double value = 0.0;
};

/// Covers a square whose middle is any pixel; what stands out of the picture is cut. Source: DeVries, Taylor,
/// "Improved regularization of convolutional neural networks with cutout", 2017.
class RONDE_API Cutout : public PlannedAugmentation {
 public:
  explicit Cutout(CutoutOptions options = {});
  bool plan(PictureChanges& changes, AugmentationRandom& random) const override;

 private:
  CutoutOptions options_;
};

struct NormalizeOptions {
  std::vector<double> mean = {};                ///< one for all channels, or one for each
  std::vector<double> standard_deviation = {};  ///< likewise
};

/// (x - mean) / standard_deviation per channel (the last axis). Test data need it too: see
/// augmented_dataset.h.
class RONDE_API Normalize : public PlannedAugmentation {
 public:
  explicit Normalize(const NormalizeOptions& options);
  bool plan(PictureChanges& changes, AugmentationRandom& random) const override;

 private:
  std::vector<double> mean_;
  std::vector<double> factor_;  // 1 / standard deviation
};

}  // namespace ronde::inline v0
