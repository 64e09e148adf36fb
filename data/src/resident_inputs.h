/// ResidentInputs: the inputs of a data set in memory, kept on a device as they are stored (bytes, for
/// images), so that a batch is gathered and scaled there.
#pragma once

#include <optional>

#include <ronde/data/data_loader.h>
#include <ronde/data/in_memory_dataset.h>

namespace ronde::inline v0 {

class ResidentInputs {
 public:
  /// For batches of up to `most` samples. Nothing where batches have to be made in host memory: on a CPU,
  /// with an augmentation, of another data set or of a larger one than the options allow.
  static std::optional<ResidentInputs> make(const Dataset& dataset, const LoaderOptions& options,
                                            std::int64_t most);

  /// Writes the inputs of the samples that `keys`, i64 (n, 2), have in their first column.
  void gather(const Tensor& inputs, const Tensor& keys) const;
  void read_targets(std::span<const std::int64_t> samples, const Tensor& targets) const {
    dataset_->read_targets(samples, targets);
  }

 private:
  const InMemoryDataset* dataset_ = nullptr;
  Tensor table_;    // (samples, elements)
  Tensor indices_;  // i32 (most)
};

}  // namespace ronde::inline v0
