#include <ronde/data/augmentation.h>

#include <utility>

namespace ronde::inline v0 {

bool Augmentation::plan(PictureChanges&, AugmentationRandom&) const {
  return false;
}

void PlannedAugmentation::apply(const Tensor& image, AugmentationRandom& random) const {
  PictureChanges changes(image.shape());
  plan(changes, random);
  changes.apply(image);
}

bool GeometricAugmentation::plan(PictureChanges& changes, AugmentationRandom& random) const {
  const Shape& shape = changes.picture_shape();
  changes.move(draw(shape[0], shape[1], random), fill() ? std::optional(*fill()) : std::nullopt);
  return true;
}

// What can be planned waits for what cannot, so that neighbours are done at once.
void Augment::apply(const Tensor& image, AugmentationRandom& random) const {
  PictureChanges waiting(image.shape());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    AugmentationRandom own = random.stream(i);
    if (stages_[i]->plan(waiting, own)) continue;
    waiting.apply(image);
    waiting.clear();
    own = random.stream(i);
    stages_[i]->apply(image, own);
  }
  waiting.apply(image);
}

// All or nothing: half a chain in `changes` would be made twice.
bool Augment::plan(PictureChanges& changes, AugmentationRandom& random) const {
  PictureChanges all = changes;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    AugmentationRandom own = random.stream(i);
    if (!stages_[i]->plan(all, own)) return false;
  }
  changes = std::move(all);
  return true;
}

}  // namespace ronde::inline v0
