/// MultiHeadAttention: for each step of a query the average of a value's steps, weighed by how well their
/// keys fit; by several heads, each with projections of its own.
///
///     Symbol y = net.add(MultiHeadAttention({.num_heads = 4, .key_dim = 16}), x);        // self-attention
///     y = net.add(MultiHeadAttention({.num_heads = 4, .key_dim = 16}), {query, value});  // {query, value, key}
///     Variable h = attention(x, context);              // in a forward() of one's own, with a member
///     Variable h = attention({query, value}, context);
///
/// query (n, t, d), value and key (n, s, ...), of which each may have features of its own; without a key the
/// value is it, without a value the query. softmax(q k^T / sqrt(key_dim)) v in each head, then all heads
/// together by `attention_output`. Weights as Keras has them: query/kernel (d, num_heads, key_dim),
/// query/bias (num_heads, key_dim), key/..., value/... (..., num_heads, value_dim), attention_output/kernel
/// (num_heads, value_dim, output_shape...), attention_output/bias (output_shape...). Dropout drops weights of
/// the average; its mask is a function of what that of a `Dropout` is. Source: Vaswani et al., "Attention is
/// all you need", 2017.
///
/// Steps that a mask (masking.h) of the value or the key leaves out have no weight; where that of the query
/// leaves one out, or no step is left, all weights are 0, as in Keras 3. The result has the query's mask.
///
/// No file suits both Keras 2 and 3, which describe such a layer and its calls in different ways:
/// `Model::save` writes for Keras 3, with KerasOptimizerState::tf2 for Keras 2; both are read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ronde/nn/attention_layer.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

struct MultiHeadAttentionOptions {
  std::int64_t num_heads = 0;
  std::int64_t key_dim = 0;                    ///< of each head's queries and keys
  std::optional<std::int64_t> value_dim = {};  ///< of each head's values; not set: key_dim
  double dropout = 0.0;
  bool use_bias = true;
  Shape output_shape = {};       ///< of a step of the result; empty: (d) of the query
  bool use_causal_mask = false;  ///< step i takes from steps 0 ... i alone
  Initializer kernel_initializer = Initializer::glorot_uniform;
  Initializer bias_initializer = Initializer::zeros;
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = {};
};

class RONDE_API MultiHeadAttention : public AttentionLayer {
 public:
  /// One of its four projections.
  enum Part { query, key, value, output };
  static constexpr std::array<const char*, 4> kPartNames{"query", "key", "value", "attention_output"};
  /// The inputs, in their order.
  static constexpr std::array<const char*, 3> kInputNames{"query", "value", "key"};

  explicit MultiHeadAttention(MultiHeadAttentionOptions options);
  std::string class_name() const override { return "MultiHeadAttention"; }
  ConfigDict config() const override;
  /// Self-attention: (n, t, d) -> (n, t, output_shape...)
  Variable forward(const Variable& x, const Context& context) override;
  /// The same of {query, value} or {query, value, key}.
  Variable join(const std::vector<Variable>& inputs, const Context& context) override;
  const MultiHeadAttentionOptions& options() const { return options_; }
  std::int64_t value_dim() const { return options_.value_dim.value_or(options_.key_dim); }
  bool use_causal_mask() const override { return options_.use_causal_mask; }
  void set_use_causal_mask(bool use_causal_mask) override { options_.use_causal_mask = use_causal_mask; }

 protected:
  void build_weights_for(std::span<const Variable> inputs, const BuildOptions& options) override;

 private:
  struct Projection {
    Variable kernel, bias;
  };
  void add_projection(Part part, const Shape& kernel, int inputs, const BuildOptions& options);
  void require_part(Part part, const Shape& shape, const Shape& like) const;
  Variable in_heads(const Variable& x, Part part, double scale) const;
  Variable weights_of(const Variable& scores, const Tensor& allowed) const;

  MultiHeadAttentionOptions options_;
  std::array<Projection, 4> projections_;
};

}  // namespace ronde::inline v0
