#include <ronde/data/image_data_generator.h>

namespace ronde::inline v0 {

Augment image_data_generator(const ImageDataGeneratorOptions& options) {
  const Fill fill{.mode = options.fill_mode, .value = options.cval};
  Augment augment(
      RandomRotation({.rotation_range = options.rotation_range, .fill = fill}),
      RandomShift({.width_shift_range = options.width_shift_range,
                   .height_shift_range = options.height_shift_range,
                   .fill = fill}),
      RandomShear({.shear_range = options.shear_range, .fill = fill}),
      RandomZoom({.zoom_range = options.zoom_range, .fill = fill}),
      RandomFlip({.horizontal_flip = options.horizontal_flip, .vertical_flip = options.vertical_flip}));
  if (options.brightness_range)
    augment.add(RandomBrightness(
        {.brightness_range = *options.brightness_range, .value_range = options.value_range}));
  if (options.rescale != 1.0)
    augment.add(Normalize({.mean = {0.0}, .standard_deviation = {1.0 / options.rescale}}));
  return augment;
}

}  // namespace ronde::inline v0
