#include <ronde/core/ops.h>
#include <ronde/nn/repeat_vector.h>

#include "layers/sequences.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

RepeatVector::RepeatVector(std::int64_t n) : n_(n) {
  require_positive(*this, "n", n);
}

Variable RepeatVector::forward(const Variable& x, const Context&) {
  require(x.rank() == 2, "[", label(), "] expects vectors (n, features), got ", x.shape());
  const std::int64_t batch = x.size(0), features = x.size(1);
  return broadcast_to(reshape(x, {batch, 1, features}), {batch, n_, features});
}

ConfigDict RepeatVector::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("n", n_);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<RepeatVector>(const LayerConfig& config) {
  return std::make_unique<RepeatVector>(config.integer("n"));
}

}  // namespace ronde::inline v0
