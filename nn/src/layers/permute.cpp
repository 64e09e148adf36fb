#include <algorithm>

#include <ronde/core/ops.h>
#include <ronde/nn/permute.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Permute::Permute(const Shape& dims) : dims_(dims) {
  require<UsageError>(dims.rank() > 0, "[", label(), "] needs a dimension");
  for (int axis = 1; axis <= dims.rank(); ++axis)
    require<UsageError>(std::count(dims.begin(), dims.end(), axis) == 1, "[", label(),
                        "] dims must have each of 1 ... ", dims.rank(), " once, got ", dims);
}

Variable Permute::forward(const Variable& x, const Context&) {
  require(x.rank() == dims_.rank() + 1, "[", label(), "] expects a batch of samples of ", dims_.rank(),
          " axes, got ", x.shape());
  return permute(x, axes());
}

ConfigDict Permute::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("dims", ConfigList(dims_.begin(), dims_.end()));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Permute>(const LayerConfig& config) {
  return std::make_unique<Permute>(config.shape("dims"));
}

}  // namespace ronde::inline v0
