/// Keras' ImageDataGenerator as an augmentation: its options, in its order of operations.
///
///     const Augment augment = image_data_generator({.width_shift_range = 0.1, .height_shift_range = 0.1,
///                                                   .horizontal_flip = true});
///     model.fit(train, {.augmentation = &augment});
///
/// Rotation, shift, shear, zoom and flips are one interpolation; then come brightness and rescaling. As
/// documented, `width_shift_range` moves along the width; Keras' releases since 2.2.5 swap the two.
#pragma once

#include <optional>

#include <ronde/data/geometric_augmentations.h>
#include <ronde/data/pixel_augmentations.h>

namespace ronde::inline v0 {

struct ImageDataGeneratorOptions {
  double rotation_range = 0.0;      ///< degrees
  double width_shift_range = 0.0;   ///< below 1 a part of the width, else pixels
  double height_shift_range = 0.0;  ///< below 1 a part of the height, else pixels
  std::optional<std::array<double, 2>> brightness_range = {};
  double shear_range = 0.0;  ///< degrees
  ZoomRange zoom_range = {};
  FillMode fill_mode = FillMode::nearest;
  double cval = 0.0;  ///< of FillMode::constant
  bool horizontal_flip = false;
  bool vertical_flip = false;
  double rescale = 1.0;                            ///< factor, at the end
  std::array<double, 2> value_range = {0.0, 1.0};  ///< of the pixels, for brightness
};

RONDE_API Augment image_data_generator(const ImageDataGeneratorOptions& options);

}  // namespace ronde::inline v0
