#include <limits>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/embedding.h>

#include "layers/masked_steps.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

/// A float holds all whole numbers up to this one.
constexpr std::int64_t kWholeInFloat = std::int64_t{1} << 24;

template <class T>
void check_each(const std::string& layer, const Tensor& indices, std::int64_t rows) {
  const T* index = indices.data<T>();
  for (std::int64_t i = 0; i < indices.count(); ++i)
    require(index[i] > T{-1} && index[i] < static_cast<T>(rows), "[", layer, "] index ", index[i],
            " at position ", i, ", expected 0 to ", rows - 1);
}

/// Before they become i32, among which there is no NaN and nothing beyond 2^31. Fractions are cut off, as in
/// Keras.
void check_indices(const std::string& layer, const Tensor& x, std::int64_t rows) {
  // A device checks them itself, so that the host need not wait for it.
  if (x.backend().device().type != DeviceType::cpu) return;
  if (x.dtype() == DType::i64) return check_each<std::int64_t>(layer, x.contiguous(), rows);
  if (!is_floating(x.dtype())) return;
  const Tensor indices = x.dtype() == DType::bf16 ? x.to(DType::f32) : x.contiguous();
  visit_real(indices.dtype(), "embedding", [&]<class T>(T) { check_each<T>(layer, indices, rows); });
}

}  // namespace

Embedding::Embedding(EmbeddingOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.input_dim > 0 && options_.output_dim > 0, "[", label(),
                      "] input_dim and output_dim must be positive, got ", options_.input_dim, " and ",
                      options_.output_dim);
  require<UsageError>(options_.input_dim <= std::numeric_limits<std::int32_t>::max(), "[", label(),
                      "] input_dim must be below 2^31, got ", options_.input_dim);
}

void Embedding::build_weights(const Shape&, const BuildOptions& options) {
  const Shape shape{options_.input_dim, options_.output_dim};
  BuildOptions floating = options;
  if (!is_floating(options.dtype)) floating.dtype = DType::f32;
  embeddings_ = add_weight(
      {.name = "embeddings", .sparse_gradient = true, .regularizer = options_.embeddings_regularizer}, shape,
      options_.embeddings_initializer, floating);
}

Variable Embedding::forward(const Variable& x, const Context&) {
  require<UsageError>(x.dtype() != DType::f32 || options_.input_dim <= kWholeInFloat, "[", label(),
                      "] input_dim ", options_.input_dim,
                      ": float32 inputs are whole numbers up to 2^24 only; use i32 or float64");
  check_indices(label(), x.value(), options_.input_dim);
  // A device turns floating numbers beyond i32 into its largest or least one, which are no rows.
  const Tensor indices = x.dtype() == DType::i64 ? x.value() : x.value().to(DType::i32);
  Variable y = in_compute_dtype(embedding(embeddings_, indices));
  if (options_.mask_zero) y.set_mask(mask_without(indices.to(DType::f32), 0.0).to(y.value().backend()));
  return y;
}

ConfigDict Embedding::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("input_dim", options_.input_dim);
  config.emplace_back("output_dim", options_.output_dim);
  config.emplace_back("embeddings_initializer", options_.embeddings_initializer.config());
  config.emplace_back("mask_zero", options_.mask_zero);
  append_regularizer("embeddings_regularizer", options_.embeddings_regularizer, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Embedding>(const LayerConfig& config) {
  config.expect_no_adapters();
  config.expect_false("sparse");
  return std::make_unique<Embedding>(EmbeddingOptions{
      .input_dim = config.integer("input_dim"),
      .output_dim = config.integer("output_dim"),
      .embeddings_initializer = config.initializer("embeddings_initializer", Initializer::random_uniform()),
      .embeddings_regularizer = config.regularizer("embeddings_regularizer"),
      .mask_zero = config.boolean("mask_zero", false)});
}

}  // namespace ronde::inline v0
