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

/// Undefined: they are in host memory or no images, or no kernel makes the view.
Tensor view_on_device(const Tensor& images, const TestTimeView& view) {
  if (images.backend().device().type == DeviceType::cpu || images.rank() != 4) return {};
  PictureChanges changes(images.shape().tail(1));
  AugmentationRandom random(0, {});
  if (!view.augment.plan(changes, random)) return {};
  const std::optional<PictureSteps> steps = changes.steps_of_kernel();
  if (!steps) return {};
  const Tensor result = Tensor::empty_like(images);
  const std::vector<double> row(changes.numbers().begin(), changes.numbers().end());
  const Tensor numbers = Tensor::from<double>({1, steps->numbers}, row, &images.backend());
  images.backend().change_pictures(result, images.contiguous(), {}, numbers, {.steps = *steps});
  return result;
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
  if (const Tensor seen = view_on_device(images, view); seen.defined()) return seen;
  const bool on_device = images.backend().device().type != DeviceType::cpu;
  const Tensor result =
      Tensor::empty(images.shape(),
                    {.dtype = images.dtype(), .backend = on_device ? &default_backend() : &images.backend()});
  result.copy_from(images);
  const Shape image = images.shape().tail(1);
  AugmentationRandom random(0, {});
  for (std::int64_t i = 0; i < images.size(0); ++i)
    view.augment.apply(result.view(i * image.count(), image), random);
  return result;
}

}  // namespace ronde::inline v0
