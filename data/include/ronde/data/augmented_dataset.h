/// AugmentedDataset: another data set, whose inputs pass through an augmentation when they are read. For
/// what all data need, not only the training's:
///
///     const Normalize normalize({.mean = {0.49, 0.48, 0.45}, .standard_deviation = {0.25, 0.24, 0.26}});
///     AugmentedDataset test(cifar10.test, normalize);
#pragma once

#include <cstdint>

#include <ronde/data/augmentation.h>
#include <ronde/data/forwarding_dataset.h>

namespace ronde::inline v0 {

class RONDE_API AugmentedDataset final : public ForwardingDataset {
 public:
  /// Both must outlive it. Random augmentations give a sample the same picture whenever it is read.
  AugmentedDataset(const Dataset& dataset, const Augmentation& augmentation, std::uint64_t seed = 0)
      : ForwardingDataset(dataset), augmentation_(&augmentation), seed_(seed) {}

  const InMemoryDataset* in_memory() const override { return inner().in_memory(); }
  bool plan(PictureChanges& changes, std::int64_t sample) const override;
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;

 private:
  const Augmentation* augmentation_;
  std::uint64_t seed_;
};

}  // namespace ronde::inline v0
