#include <cstring>

#include <ronde/core/backend.h>
#include <ronde/data/augmentation.h>

namespace ronde::inline v0 {
namespace {

void require_picture(const Tensor& image) {
  require(image.rank() == 3, "[augmentation] expects a picture (h, w, c), got ", image.shape());
}

bool is_identity(const AffineMap& map) {
  return map.xx == 1.0 && map.xy == 0.0 && map.x0 == 0.0 && map.yx == 0.0 && map.yy == 1.0 && map.y0 == 0.0;
}

void resample_in_place(const Tensor& image, const AffineMap& map, const Fill* fill) {
  if (is_identity(map)) return;
  const Tensor before = Tensor::empty_like(image);
  std::memcpy(before.raw(), image.raw(), image.byte_size());
  resample(image, before, map, fill ? *fill : Fill{});
}

/// Geometric augmentations that wait to be done at once.
class Pending {
 public:
  explicit Pending(const Tensor& image) : image_(&image) {}

  void add(const GeometricAugmentation& stage, AugmentationRandom random) {
    require_picture(*image_);
    const Fill* fill = stage.fill();
    if (fill && fill_ && *fill != *fill_) flush();
    if (fill) fill_ = fill;
    map_ = map_ * stage.draw(image_->size(0), image_->size(1), random);
  }
  void flush() {
    resample_in_place(*image_, map_, fill_);
    map_ = {};
    fill_ = nullptr;
  }

 private:
  const Tensor* image_;
  AffineMap map_;
  const Fill* fill_ = nullptr;  // of the stages so far; nullptr: any will do
};

}  // namespace

AffineMap operator*(const AffineMap& outer, const AffineMap& inner) {
  return {.xx = outer.xx * inner.xx + outer.xy * inner.yx,
          .xy = outer.xx * inner.xy + outer.xy * inner.yy,
          .x0 = outer.xx * inner.x0 + outer.xy * inner.y0 + outer.x0,
          .yx = outer.yx * inner.xx + outer.yy * inner.yx,
          .yy = outer.yx * inner.xy + outer.yy * inner.yy,
          .y0 = outer.yx * inner.x0 + outer.yy * inner.y0 + outer.y0};
}

void GeometricAugmentation::apply(const Tensor& image, AugmentationRandom& random) const {
  require_picture(image);
  resample_in_place(image, draw(image.size(0), image.size(1), random), fill());
}

void Augment::apply(const Tensor& image, AugmentationRandom& random) const {
  Pending pending(image);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    AugmentationRandom own = random.stream(i);
    if (const auto* geometric = dynamic_cast<const GeometricAugmentation*>(stages_[i].get())) {
      pending.add(*geometric, own);
    } else {
      pending.flush();
      stages_[i]->apply(image, own);
    }
  }
  pending.flush();
}

}  // namespace ronde::inline v0
