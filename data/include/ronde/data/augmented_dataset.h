/// AugmentedDataset: another data set, whose inputs pass through an augmentation when they are read. For
/// what all data need, not only the training's:
///
///     const Normalize normalize({.mean = {0.49, 0.48, 0.45}, .standard_deviation = {0.25, 0.24, 0.26}});
///     AugmentedDataset test(cifar10.test, normalize);
#pragma once

#include <cstdint>

#include <ronde/data/augmentation.h>
#include <ronde/data/dataset.h>

namespace ronde::inline v0 {

class RONDE_API AugmentedDataset final : public Dataset {
 public:
  /// Both must outlive it. Random augmentations give a sample the same picture whenever it is read.
  AugmentedDataset(const Dataset& dataset, const Augmentation& augmentation, std::uint64_t seed = 0)
      : dataset_(&dataset), augmentation_(&augmentation), seed_(seed) {}

  std::int64_t size() const override { return dataset_->size(); }
  Shape input_shape() const override { return dataset_->input_shape(); }
  Shape target_shape() const override { return dataset_->target_shape(); }
  DType target_dtype() const override { return dataset_->target_dtype(); }
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }
  std::int64_t block_size() const override { return dataset_->block_size(); }
  const InMemoryDataset* in_memory() const override { return dataset_->in_memory(); }
  bool plan(PictureChanges& changes, std::int64_t sample) const override;
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;

 private:
  const Dataset* dataset_;
  const Augmentation* augmentation_;
  std::uint64_t seed_;
};

}  // namespace ronde::inline v0
