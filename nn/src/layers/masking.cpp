#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/masking.h>

#include "layers/masked_steps.h"
#include "layers/sequences.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

Variable Masking::forward(const Variable& x, const Context&) {
  require_sequences(*this, x.shape());
  const Tensor counts = mask_without(x.value(), mask_value_);  // one feature is enough
  const Tensor mask = Tensor::empty({x.size(0), x.size(1), 1}, counts.options());
  counts.backend().reduce(ReduceOp::max, mask, counts);
  Variable y = x * Variable(mask.to(x.dtype()));
  y.set_mask(mask.reshape({x.size(0), x.size(1)}));
  return y;
}

ConfigDict Masking::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("mask_value", mask_value_);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Masking>(const LayerConfig& config) {
  return std::make_unique<Masking>(config.number("mask_value", 0.0));
}

}  // namespace ronde::inline v0
