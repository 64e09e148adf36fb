#include <ronde/nn/multi_head_attention.h>

#include <cmath>

#include <ronde/core/ops.h>

#include "layers/sequences.h"
#include "layers/shapes.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

/// As (rows, columns), of the axes in front of `axis` and from there on.
Variable as_matrix(const Variable& kernel, int axis) {
  const std::int64_t columns = kernel.shape().tail(axis).count();
  return reshape(kernel, {kernel.shape().count() / columns, columns});
}

Variable flat(const Variable& bias) {
  return bias.defined() ? reshape(bias, {bias.shape().count()}) : bias;
}

/// (n, t, d) -> (n * t, d)
Variable steps_of(const Variable& x) {
  return reshape(x, {x.size(0) * x.size(1), x.size(2)});
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(MultiHeadAttentionOptions options)
    : AttentionLayer(checked_dropout(options.dropout, options.name, "multi_head_attention")),
      options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  bool is_positive = options_.num_heads > 0 && options_.key_dim > 0 && value_dim() > 0;
  for (const std::int64_t extent : options_.output_shape) is_positive = is_positive && extent > 0;
  require<UsageError>(is_positive, "[", label(), "] num_heads, key_dim, value_dim and output_shape must be ",
                      "positive, got ", Shape{options_.num_heads, options_.key_dim, value_dim()}, " and ",
                      options_.output_shape);
}

// --- weights

/// Of a kernel whose first `inputs` axes are what it takes.
void MultiHeadAttention::add_projection(Part part, const Shape& kernel, int inputs,
                                        const BuildOptions& options) {
  const std::string name = kPartNames[part];
  Projection& projection = projections_[part];
  projection.kernel = add_weight({.name = name + "/kernel", .regularizer = options_.kernel_regularizer},
                                 kernel, options_.kernel_initializer, options);
  if (!options_.use_bias) return;
  projection.bias = add_weight({.name = name + "/bias", .regularizer = options_.bias_regularizer},
                               kernel.tail(inputs), options_.bias_initializer, options);
}

void MultiHeadAttention::build_weights_for(std::span<const Variable> inputs, const BuildOptions& options) {
  for (const Variable& input : inputs) require_sequences(*this, input.shape());
  const std::int64_t heads = options_.num_heads, d = inputs.front().size(2);
  const std::int64_t of_value = inputs[inputs.size() > 1 ? 1 : 0].size(2), of_key = inputs.back().size(2);
  add_projection(query, {d, heads, options_.key_dim}, 1, options);
  add_projection(key, {of_key, heads, options_.key_dim}, 1, options);
  add_projection(value, {of_value, heads, value_dim()}, 1, options);
  const Shape result = options_.output_shape.rank() > 0 ? options_.output_shape : Shape{d};
  add_projection(output, behind({heads, value_dim()}, result), 2, options);
}

// --- computation

Variable MultiHeadAttention::forward(const Variable& x, const Context& context) {
  return join({x}, context);
}

/// Of as many samples and steps as `like`.
void MultiHeadAttention::require_part(Part part, const Shape& shape, const Shape& like) const {
  require_sequences(*this, shape);
  require_input(kPartNames[part], shape, {like[0], like[1], projections_[part].kernel.size(0)});
}

/// (n, t, features) -> (n * heads, t, size), `scale` times its projection.
Variable MultiHeadAttention::in_heads(const Variable& x, Part part, double scale) const {
  const std::int64_t n = x.size(0), t = x.size(1), heads = options_.num_heads;
  const Projection& projection = projections_[part];
  const std::int64_t size = projection.kernel.size(2);
  Variable kernel = as_matrix(projection.kernel, 1), bias = flat(projection.bias);
  if (scale != 1.0) {  // weights are fewer than what they make
    kernel = kernel * scale;
    if (bias.defined()) bias = bias * scale;
  }
  const Variable y = reshape(dense(steps_of(x), kernel, bias), {n, t, heads, size});
  return reshape(permute(y, {0, 2, 1, 3}), {n * heads, t, size});
}

/// Softmax of scores (n, heads, t, s) over the steps that are allowed, zeros for the others.
Variable MultiHeadAttention::weights_of(const Variable& scores, const Tensor& allowed) const {
  if (!allowed.defined()) return softmax(scores);
  return softmax(scores + Variable(added_for(allowed))) * Variable(allowed);
}

Variable MultiHeadAttention::join(const std::vector<Variable>& inputs, const Context& context) {
  require(inputs.size() <= 3, "[", label(), "] takes a query, a value and a key, got ", inputs.size(),
          " inputs");
  const Variable &x = inputs.front(), &values = inputs[inputs.size() > 1 ? 1 : 0], &keys = inputs.back();
  require_part(query, x.shape(), x.shape());
  require_part(value, values.shape(), Shape{x.size(0), values.size(1)});
  require_part(key, keys.shape(), values.shape());
  const std::int64_t n = x.size(0), t = x.size(1), s = values.size(1), heads = options_.num_heads;
  const Variable q = in_heads(x, query, 1.0 / std::sqrt(static_cast<double>(options_.key_dim)));
  const Variable k = in_heads(keys, key, 1.0), v = in_heads(values, value, 1.0);
  const Tensor mask = allowed(
      {n, 1, t, s}, {query_mask(x), value_mask(values), keys.same_as(values) ? Tensor() : value_mask(keys)},
      context);
  const Variable scores = causal(matmul(q, permute(k, {0, 2, 1})), context);
  const Variable weights = dropped(weights_of(reshape(scores, {n, heads, t, s}), mask), context);
  const Variable of_heads = matmul(reshape(weights, {n * heads, t, s}), v);  // (n * heads, t, value_dim)
  const Variable steps = permute(reshape(of_heads, {n, heads, t, value_dim()}), {0, 2, 1, 3});
  const Projection& last = projections_[output];
  const Variable y =
      dense(reshape(steps, {n * t, heads * value_dim()}), as_matrix(last.kernel, 2), flat(last.bias));
  Variable result = reshape(y, behind({n, t}, last.kernel.shape().tail(2)));
  result.set_mask(x.mask());
  return result;
}

// --- files

ConfigDict MultiHeadAttention::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("num_heads", options_.num_heads);
  config.emplace_back("key_dim", options_.key_dim);
  config.emplace_back("value_dim", value_dim());
  config.emplace_back("dropout", options_.dropout);
  config.emplace_back("use_bias", options_.use_bias);
  ConfigValue result;
  if (options_.output_shape.rank() > 0)
    result = ConfigList(options_.output_shape.begin(), options_.output_shape.end());
  config.emplace_back("output_shape", result);
  config.emplace_back("attention_axes", ConfigValue());
  config.emplace_back("kernel_initializer", options_.kernel_initializer.config());
  config.emplace_back("bias_initializer", options_.bias_initializer.config());
  append_regularizer("kernel_regularizer", options_.kernel_regularizer, config);
  append_regularizer("bias_regularizer", options_.bias_regularizer, config);
  return config;
}

namespace {

Shape read_output_shape(const LayerConfig& config) {
  if (config.find("output_shape") == nullptr) return {};
  return config.shape("output_shape", Shape::kMaxRank - 2);
}

/// Attention over the steps of (n, steps, features) alone.
void expect_axis_of_steps(const LayerConfig& config) {
  if (config.find("attention_axes") == nullptr) return;
  const std::vector<std::int64_t> axes = config.integers("attention_axes");
  if (axes != std::vector<std::int64_t>{1})
    config.refuse("attention_axes", cat(Shape(axes), " is not supported, only (1,), the steps"));
}

}  // namespace

template <>
std::unique_ptr<Module> read_layer<MultiHeadAttention>(const LayerConfig& config) {
  config.expect_no_adapters();
  expect_axis_of_steps(config);
  if (config.find("sliding_window") != nullptr)
    config.refuse("sliding_window", cat(config.integer("sliding_window"), " is not supported"));
  config.expect_false("flash_attention");
  config.expect_false("use_gate");
  config.ignore({"seed", "query_shape", "value_shape", "key_shape"});
  MultiHeadAttentionOptions options{
      .num_heads = config.integer("num_heads"),
      .key_dim = config.integer("key_dim"),
      .dropout = config.number("dropout", 0.0),
      .use_bias = config.boolean("use_bias", true),
      .output_shape = read_output_shape(config),
      .kernel_initializer = config.initializer("kernel_initializer", Initializer::glorot_uniform),
      .bias_initializer = config.initializer("bias_initializer", Initializer::zeros),
      .kernel_regularizer = config.regularizer("kernel_regularizer"),
      .bias_regularizer = config.regularizer("bias_regularizer")};
  if (config.find("value_dim") != nullptr) options.value_dim = config.integer("value_dim");
  return std::make_unique<MultiHeadAttention>(std::move(options));
}

}  // namespace ronde::inline v0
