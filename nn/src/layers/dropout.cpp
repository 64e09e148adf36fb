#include <atomic>
#include <vector>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/core/philox.h>
#include <ronde/nn/dropout.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Dropout::Dropout(double rate, const Shape& noise_shape) : rate_(rate), noise_shape_(noise_shape) {
  require<UsageError>(rate >= 0.0 && rate < 1.0, "[dropout] rate must be in [0, 1), got ", rate);
}

Variable Dropout::forward(const Variable& x, const Context& context) {
  const std::optional<DropoutCall> drop = call(x, context);
  if (!drop || is_elementwise()) return drop ? dropout(x, drop->sample_keys, drop->params) : x;
  require(x.rank() == noise_shape_.rank() + 1, "[", label(), "] has a noise_shape ", noise_shape_,
          ", which is not one for inputs of shape ", x.shape());
  Shape mask = noise_shape_.batch_of(x.size(0));
  for (int axis = 1; axis < x.rank(); ++axis)
    if (mask[axis] == -1) mask[axis] = x.size(axis);
  return x * dropout(Tensor::full(mask, 1.0, x.value().options()), drop->sample_keys, drop->params);
}

std::optional<DropoutCall> Dropout::call(const Variable& x, const Context& context) {
  if (!context.training || rate_ == 0.0 || x.shape().count() == 0) return std::nullopt;
  const Tensor keys = context.sample_keys.defined() ? context.sample_keys : make_keys(x);
  require(keys.rank() == 2 && keys.size(0) == x.size(0) && keys.size(1) == 2, "[", label(),
          "] expects sample keys of shape (", x.size(0), ", 2), got ", keys.shape(), ". The first axis of ",
          x.shape(),
          " must be the samples of the batch, which have a key each: a net that flattens more axes "
          "into it has to bring its samples back to the front");
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
  if (is_elementwise()) return config;
  ConfigList noise{ConfigValue()};  // of the batch
  for (const std::int64_t extent : noise_shape_)
    noise.push_back(extent == -1 ? ConfigValue() : ConfigValue(extent));
  config.emplace_back("noise_shape", noise);
  return config;
}

namespace {

/// Keras' [null, 1, 1, null] without the batch.
Shape read_noise_shape(const LayerConfig& config) {
  const ConfigValue* noise = config.find("noise_shape");
  if (noise == nullptr) return {};
  const ConfigList& extents = noise->as_list();
  if (extents.empty() || !extents[0].is_null() || extents.size() > Shape::kMaxRank)
    config.refuse("noise_shape", cat("expected null for the batch and at most ", Shape::kMaxRank - 1,
                                     " extents, found ", counted(extents.size(), "entry", "entries"),
                                     extents.empty() || extents[0].is_null() ? "" : ", the first not null"));
  Shape shape;
  for (std::size_t axis = 1; axis < extents.size(); ++axis)
    shape.push_back(extents[axis].is_null() ? -1 : extents[axis].as_int());
  return shape;
}

}  // namespace

template <>
std::unique_ptr<Module> read_layer<Dropout>(const LayerConfig& config) {
  config.ignore({"seed"});
  return std::make_unique<Dropout>(config.number("rate", 0.5), read_noise_shape(config));
}

}  // namespace ronde::inline v0
