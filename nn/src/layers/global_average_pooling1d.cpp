#include <ronde/core/ops.h>
#include <ronde/nn/global_average_pooling1d.h>

#include "layers/global_pooling.h"
#include "layers/masked_steps.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

GlobalAveragePooling1D::GlobalAveragePooling1D(GlobalPoolingOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
}

Variable GlobalAveragePooling1D::forward(const Variable& x, const Context&) {
  require_sequences(*this, x.shape());
  const ReduceOptions over_steps{.axes = {1}, .keep_dims = options_.keepdims};
  const Tensor mask = mask_column(*this, x);
  if (!mask.defined()) return mean(x, over_steps);
  return sum(x * mask, over_steps) / sum(mask, over_steps);
}

ConfigDict GlobalAveragePooling1D::config() const {
  return global_pooling_config(*this, options_);
}

template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling1D>(const LayerConfig& config) {
  return std::make_unique<GlobalAveragePooling1D>(read_global_pooling(config));
}

}  // namespace ronde::inline v0
