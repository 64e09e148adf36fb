#include <ronde/core/backend.h>
#include <ronde/data/geometric_augmentations.h>
#include <ronde/data/test_time_views.h>

namespace ronde::inline v0 {
namespace {

/// Moved to the bottom right by so many pixels, then flipped if asked to.
enum class Side { as_it_is, mirrored };
TestTimeView moved(double pixels, Side side, double weight) {
  const Fill reflect{.mode = FillMode::reflect};
  const double right = side == Side::mirrored ? -1.0 : 1.0;
  return {Augment(FixedMap({.xx = right, .x0 = -pixels, .y0 = -pixels}, reflect)), weight};
}

}  // namespace

std::vector<TestTimeView> mirror_views() {
  return {TestTimeView(), moved(0.0, Side::mirrored, 1.0)};
}

std::vector<TestTimeView> shifted_mirror_views(std::int64_t pixels) {
  require<UsageError>(pixels >= 1, "[test_time_views] pixels must be at least 1, got ", pixels);
  std::vector<TestTimeView> views = mirror_views();
  for (TestTimeView& view : views) view.weight = 2.0;
  for (const double shift : {-static_cast<double>(pixels), static_cast<double>(pixels)})
    for (const Side side : {Side::as_it_is, Side::mirrored}) views.push_back(moved(shift, side, 1.0));
  return views;
}

Tensor view_images(const Tensor& images, const TestTimeView& view) {
  const Tensor result = Tensor::empty(images.shape(), {.dtype = images.dtype(), .backend = &backend("cpu")});
  result.copy_from(images);
  const Shape image = images.shape().tail(1);
  AugmentationRandom random(0, {});
  for (std::int64_t i = 0; i < images.size(0); ++i)
    view.augment.apply(result.view(i * image.count(), image), random);
  return result;
}

}  // namespace ronde::inline v0
