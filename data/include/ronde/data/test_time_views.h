/// Test-time augmentation: a picture is shown to the net in several ways, and what it says is averaged.
///
///     model.evaluate(test, {.batch_size = 500, .views = mirror_views()});
///     model.predict(images, {.views = shifted_mirror_views(1)});
///
/// Any Augmentation makes a view, if it does the same to every picture.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/data/augmentation.h>

namespace ronde::inline v0 {

struct TestTimeView {
  Augment augment = {};  ///< none: the picture as it is
  double weight = 1.0;   ///< of what the net says, divided by that of all views
};

/// The picture and its mirror image.
RONDE_API std::vector<TestTimeView> mirror_views();

/// Six views: the picture and its mirror image, and both moved by `pixels` to the top left and to the bottom
/// right, the border reflected. Those in place count as much as the others together. Source: Jordan, "94% on
/// CIFAR-10 in 3.29 seconds", 2024.
RONDE_API std::vector<TestTimeView> shifted_mirror_views(std::int64_t pixels = 1);

/// The view of each of `images` (n, h, w, c), f32 or f64, in new memory: where they are if that is a GPU that
/// can make it (Augmentation::plan), else the host's.
RONDE_API Tensor view_images(const Tensor& images, const TestTimeView& view);

}  // namespace ronde::inline v0
