#include <atomic>
#include <vector>

#include <ronde/core/ops.h>
#include <ronde/core/philox.h>
#include <ronde/nn/dropout.h>

#include "layer_config.h"

namespace ronde::inline v0 {

Dropout::Dropout(double rate) : rate_(rate) {
  require<UsageError>(rate >= 0.0 && rate < 1.0, "[dropout] rate must be in [0, 1), got ", rate);
}

Variable Dropout::forward(const Variable& x, const Context& context) {
  const std::optional<DropoutCall> drop = call(x, context);
  return drop ? dropout(x, drop->sample_keys, drop->params) : x;
}

std::optional<DropoutCall> Dropout::call(const Variable& x, const Context& context) {
  if (!context.training || rate_ == 0.0 || x.shape().count() == 0) return std::nullopt;
  const Tensor keys = context.sample_keys.defined() ? context.sample_keys : make_keys(x);
  require(keys.rank() == 2 && keys.size(0) == x.size(0) && keys.size(1) == 2, "[", label(),
          "] expects sample keys of shape (", x.size(0), ", 2), got ", keys.shape());
  return DropoutCall{keys, {.rate = rate_, .seed = context.seed, .op = hash_name(path())}};
}

Tensor Dropout::make_keys(const Variable& x) {
  const std::int64_t call = std::atomic_ref(unkeyed_calls_).fetch_add(1, std::memory_order_relaxed);
  std::vector<std::int64_t> keys;
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    keys.push_back(row);
    keys.push_back(call);
  }
  return Tensor::from<std::int64_t>({x.size(0), 2}, keys, &x.value().backend());
}

ConfigDict Dropout::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("rate", rate_);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Dropout>(const LayerConfig& config) {
  config.expect_null("noise_shape");
  config.ignore({"seed"});
  return std::make_unique<Dropout>(config.number("rate", 0.5));
}

}  // namespace ronde::inline v0
