#include "resident_inputs.h"

#include <limits>
#include <typeinfo>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

std::optional<ResidentInputs> ResidentInputs::make(const Dataset& dataset, const LoaderOptions& options,
                                                   std::int64_t most) {
  if (!options.backend || options.backend->device().type == DeviceType::cpu || options.augmentation)
    return std::nullopt;
  if (typeid(dataset) != typeid(InMemoryDataset))
    return std::nullopt;  // a derived one may read something else
  const auto& in_memory = static_cast<const InMemoryDataset&>(dataset);
  const Tensor& inputs = in_memory.inputs();
  if (static_cast<std::int64_t>(inputs.byte_size()) > options.resident_bytes ||
      inputs.size(0) > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  ResidentInputs resident;
  resident.dataset_ = &in_memory;
  resident.table_ = inputs.to(*options.backend).reshape({inputs.size(0), inputs.shape().tail(1).count()});
  resident.indices_ = Tensor::empty({most}, {DType::i32, options.backend});
  return resident;
}

void ResidentInputs::gather(const Tensor& inputs, const Tensor& keys) const {
  const std::int64_t n = keys.size(0);
  const Tensor indices = indices_.slice(0, 0, n);
  table_.backend().copy(indices.reshape({n, 1}), keys.slice(1, 0, 1));
  const InMemoryOptions& options = dataset_->options();
  table_.backend().gather_scaled(inputs.reshape({n, table_.size(1)}), table_, indices, options.scale,
                                 options.offset);
}

}  // namespace ronde::inline v0
