/// ResidentInputs: the inputs of a data set in memory, kept on a device as they are stored (bytes, for
/// images), so that a batch is gathered, scaled and augmented there.
#pragma once

#include <optional>

#include <ronde/data/data_loader.h>
#include <ronde/data/in_memory_dataset.h>

namespace ronde::inline v0 {

class ResidentInputs {
 public:
  /// Nothing where batches have to be made in host memory: on a CPU,
  /// with an augmentation that no kernel makes or that follows one of the data set's own, of a data set that
  /// is not in memory or is larger than the options allow. `seed`: of the augmentation.
  static std::optional<ResidentInputs> make(const Dataset& dataset, const LoaderOptions& options,
                                            std::uint64_t seed);

  /// Numbers that the changes of a sample are made of; 0: there are none.
  std::int64_t numbers() const { return steps_.numbers; }
  /// Makes them for the samples of `keys`, i64 (n, 2), into f64 (n, numbers()); both in host memory. Several
  /// threads may do so at once.
  void draw(const Tensor& numbers, const Tensor& keys) const;

  /// Writes the inputs of these samples, i32 (n). All are on the device.
  void gather(const Tensor& inputs, const Tensor& indices, const Tensor& numbers) const;
  void read_targets(std::span<const std::int64_t> samples, const Tensor& targets) const {
    stored_->read_targets(samples, targets);
  }

 private:
  bool plan(PictureChanges& changes, SampleKey sample) const;

  const Dataset* dataset_ = nullptr;
  const InMemoryDataset* stored_ = nullptr;  // the same, before its changes
  const Augmentation* augmentation_ = nullptr;
  PictureSteps steps_;  // of the data set or the augmentation
  std::uint64_t seed_ = 0;
  Tensor table_;  // (samples, elements)
};

}  // namespace ronde::inline v0
