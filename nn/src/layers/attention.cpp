#include <ronde/nn/attention.h>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/initializer.h>

#include "layers/masked_steps.h"
#include "layers/sequences.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

/// tanh of each step of q (n, t, d) plus each of k (n, s, d): (n, t, s, d).
Variable tanh_of_pairs(const Variable& q, const Variable& k) {
  const std::int64_t n = q.size(0), d = q.size(2);
  return tanh(reshape(q, {n, q.size(1), 1, d}) + reshape(k, {n, 1, k.size(1), d}));
}

/// x times a weight, perhaps undefined, which is f32 where x is bf16.
Variable scaled(const Variable& x, const Variable& weight) {
  return weight.defined() ? x * cast(weight, x.dtype()) : x;
}

}  // namespace

Attention::Attention(AttentionOptions options)
    : AttentionLayer(checked_dropout(options.dropout, options.name, "attention")),
      options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
}

void Attention::build_weights(const Shape&, const BuildOptions& options) {
  if (options_.use_scale) scale_ = add_weight({.name = "scale"}, {}, Initializer::ones, options);
  if (options_.score_mode == ScoreMode::concat)
    concat_score_weight_ = add_weight({.name = "concat_score_weight"}, {}, Initializer::ones, options);
}

Variable Attention::forward(const Variable& x, const Context& context) {
  return join({x}, context);
}

Variable Attention::scores(const Variable& query, const Variable& key) const {
  if (options_.score_mode == ScoreMode::dot) return scaled(matmul(query, permute(key, {0, 2, 1})), scale_);
  const Variable pairs = tanh_of_pairs(scaled(query, scale_), scaled(key, scale_));
  return scaled(sum(pairs, {.axes = {-1}}), concat_score_weight_);
}

/// Softmax over the steps that the value's mask and the causal one allow.
Variable Attention::weights_of(const Variable& scores, const Variable& values, const Context& context) {
  const Tensor steps =
      allowed({scores.size(0), 1, scores.size(1), scores.size(2)}, {value_mask(values)}, context);
  if (!steps.defined()) return softmax(causal(scores, context));
  return softmax(scores + Variable(added_for(steps).reshape(scores.shape())));
}

Variable Attention::join(const std::vector<Variable>& inputs, const Context& context) {
  require(inputs.size() == 2 || inputs.size() == 3, "[", label(),
          "] takes a query, a value and perhaps a key, got ", counted(inputs.size(), "input"));
  const Variable &query = inputs[0], &values = inputs[1], &key = inputs.back();
  require_sequences(*this, query.shape());
  require_sequences(*this, values.shape());
  const std::int64_t n = query.size(0), s = values.size(1);
  require_input("value", values.shape(), {n, s, values.size(2)});
  require_input(inputs.size() == 2 ? "value" : "key", key.shape(), {n, s, query.size(2)});
  const Variable weights = dropped(weights_of(scores(query, key), values, context), context);
  Variable result = zeroed(matmul(weights, values), mask_column(*this, query));
  result.set_mask(query.mask());
  return result;
}

AdditiveAttention::AdditiveAttention(AdditiveAttentionOptions options)
    : Attention({.use_scale = options.use_scale,
                 .dropout = checked_dropout(options.dropout, options.name, "additive_attention"),
                 .use_causal_mask = options.use_causal_mask,
                 .name = std::move(options.name)}) {}

void AdditiveAttention::build_weights(const Shape& input, const BuildOptions& options) {
  require_sequences(*this, input);
  if (!this->options().use_scale) return;
  scale_ = add_weight({.name = "scale"}, {input.back()}, Initializer::glorot_uniform, options);
}

Variable AdditiveAttention::scores(const Variable& query, const Variable& key) const {
  const Variable pairs = tanh_of_pairs(query, key);  // (n, t, s, d)
  if (!scale_.defined()) return sum(pairs, {.axes = {-1}});
  const Shape& shape = pairs.shape();
  const Variable rows = reshape(pairs, {shape[0] * shape[1] * shape[2], shape[3]});
  return reshape(dense(rows, reshape(scale_, {shape[3], 1})), {shape[0], shape[1], shape[2]});
}

// --- files

/// In an `.h5` Keras 3 takes "dot" for the function of that name, and refuses the file.
ConfigDict Attention::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("dropout", options_.dropout);
  config.emplace_back("use_scale", options_.use_scale);
  if (options_.score_mode == ScoreMode::concat) config.emplace_back("score_mode", "concat");
  return config;
}

ConfigDict AdditiveAttention::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("dropout", options().dropout);
  config.emplace_back("use_scale", options().use_scale);
  return config;
}

namespace {

ScoreMode read_score_mode(const LayerConfig& config) {
  const std::string mode = config.text("score_mode", "dot");
  if (mode != "dot" && mode != "concat")
    config.refuse("score_mode", cat("\"", mode, "\" is not supported, only dot and concat"));
  return mode == "dot" ? ScoreMode::dot : ScoreMode::concat;
}

/// Of files before Keras 2.10, in which it belongs to the layer.
void expect_not_causal(const LayerConfig& config) {
  config.expect_false("causal");
  config.ignore({"seed"});
}

}  // namespace

template <>
std::unique_ptr<Module> read_layer<Attention>(const LayerConfig& config) {
  expect_not_causal(config);
  return std::make_unique<Attention>(AttentionOptions{.use_scale = config.boolean("use_scale", false),
                                                      .score_mode = read_score_mode(config),
                                                      .dropout = config.number("dropout", 0.0)});
}

template <>
std::unique_ptr<Module> read_layer<AdditiveAttention>(const LayerConfig& config) {
  expect_not_causal(config);
  return std::make_unique<AdditiveAttention>(AdditiveAttentionOptions{
      .use_scale = config.boolean("use_scale", true), .dropout = config.number("dropout", 0.0)});
}

}  // namespace ronde::inline v0
