#include <ronde/data/augmented_dataset.h>

namespace ronde::inline v0 {

// A picture is rounded between two augmentations, and a move of each would become one: other pictures than
// `read` gives.
bool AugmentedDataset::plan(PictureChanges& changes, std::int64_t sample) const {
  AugmentationRandom random(seed_, {.sample = sample, .epoch = 0});
  return inner().plan(changes, sample) && changes.steps().empty() && augmentation_->plan(changes, random);
}

void AugmentedDataset::read(std::span<const std::int64_t> samples, const Tensor& inputs,
                            const Tensor& targets) const {
  inner().read(samples, inputs, targets);
  const Shape sample = input_shape();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    AugmentationRandom random(seed_, {.sample = samples[i], .epoch = 0});
    augmentation_->apply(inputs.view(static_cast<std::int64_t>(i) * sample.count(), sample), random);
  }
}

}  // namespace ronde::inline v0
