/// Subset: the first samples of another data set (`--train-samples N`).
///
///     Subset small = subset(mnist.train, 1000);
#pragma once

#include <ronde/data/forwarding_dataset.h>

namespace ronde::inline v0 {

/// The other data set must outlive it.
class RONDE_API Subset final : public ForwardingDataset {
 public:
  /// The first `size` samples, 1 <= size <= dataset.size().
  Subset(const Dataset& dataset, std::int64_t size);

  std::int64_t size() const override { return size_; }
  const InMemoryDataset* in_memory() const override { return inner().in_memory(); }
  bool plan(PictureChanges& changes, std::int64_t sample) const override {
    return inner().plan(changes, sample);
  }
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;

 private:
  std::int64_t size_;
};

/// The first `size` samples of `dataset`; all of them when it has fewer.
RONDE_API Subset subset(const Dataset& dataset, std::int64_t size);

}  // namespace ronde::inline v0
