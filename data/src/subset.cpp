#include <ronde/data/subset.h>

#include <algorithm>

namespace ronde::inline v0 {

Subset::Subset(const Dataset& dataset, std::int64_t size) : ForwardingDataset(dataset), size_(size) {
  require<UsageError>(size >= 1 && size <= dataset.size(), "[subset] expects 1 to ", dataset.size(),
                      " samples, got ", size);
}

void Subset::read(std::span<const std::int64_t> samples, const Tensor& inputs, const Tensor& targets) const {
  for (const std::int64_t sample : samples)
    require(sample >= 0 && sample < size_, "[subset] sample ", sample, " of ", size_);
  inner().read(samples, inputs, targets);
}

Subset subset(const Dataset& dataset, std::int64_t size) {
  return Subset(dataset, std::min(size, dataset.size()));
}

}  // namespace ronde::inline v0
