/// Attention and AdditiveAttention: for each step of a query the average of a value's steps, weighed by a
/// softmax of scores of query and key, without heads or projections.
///
///     y = net.add(Attention(), {query, value});
///     y = net.add(AdditiveAttention({.use_causal_mask = true}), {query, value, key});
///     Variable h = attention({query, value}, context);     // in a forward() of one's own, with a member
///
/// query (n, t, d), value (n, s, e), key (n, s, d) -> (n, t, e); without a key the value is it. Scores of a
/// step q of the query and a step k of the key:
///
///     Attention                        scale * sum(q * k)
///     Attention, ScoreMode::concat     concat_score_weight * sum(tanh(scale * (q + k)))
///     AdditiveAttention                sum(scale * tanh(q + k))
///
/// where scale is 1 without use_scale. Sums of tanh need memory for all pairs of steps, n t s d. Dropout
/// drops weights of the average.
///
/// Steps that a mask (masking.h) of the value leaves out have no weight, unless no step is left for a step of
/// the query: it averages all of them. So with a causal mask, and a value whose first steps are left out, the
/// first steps of the query average later ones, too. The result is 0, and has its mask, where the query's
/// leaves a step out. A mask of the key is not looked at. All that is Keras'; its class in Keras 2 takes the
/// length of an AdditiveAttention's scale from the value, so that e has to be d there. Sources: Luong et al.,
/// "Effective approaches to attention-based neural machine translation", 2015; Bahdanau et al., "Neural
/// machine translation by jointly learning to align and translate", 2015.
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/attention_layer.h>

namespace ronde::inline v0 {

enum class ScoreMode { dot, concat };

struct AttentionOptions {
  bool use_scale = false;  ///< a weight, 1 at first
  ScoreMode score_mode = ScoreMode::dot;
  double dropout = 0.0;
  bool use_causal_mask = false;  ///< step i takes from steps 0 ... i alone
  std::string name = {};
};

class RONDE_API Attention : public AttentionLayer {
 public:
  explicit Attention(AttentionOptions options = {});
  std::string class_name() const override { return "Attention"; }
  ConfigDict config() const override;
  /// An error: there is no value.
  Variable forward(const Variable& x, const Context& context) override;
  /// Of {query, value} or {query, value, key}.
  Variable join(const std::vector<Variable>& inputs, const Context& context) override;
  const AttentionOptions& options() const { return options_; }
  bool use_causal_mask() const override { return options_.use_causal_mask; }
  void set_use_causal_mask(bool use_causal_mask) override { options_.use_causal_mask = use_causal_mask; }

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;
  Variable scale_;  // undefined without use_scale

 private:
  /// Of query (n, t, d) and key (n, s, d): (n, t, s).
  virtual Variable scores(const Variable& query, const Variable& key) const;
  Variable weights_of(const Variable& scores, const Variable& values, const Context& context);

  AttentionOptions options_;
  Variable concat_score_weight_;
};

struct AdditiveAttentionOptions {
  bool use_scale = true;  ///< a weight for each feature
  double dropout = 0.0;
  bool use_causal_mask = false;
  std::string name = {};
};

class RONDE_API AdditiveAttention : public Attention {
 public:
  explicit AdditiveAttention(AdditiveAttentionOptions options = {});
  std::string class_name() const override { return "AdditiveAttention"; }
  ConfigDict config() const override;

 protected:
  void build_weights(const Shape& input, const BuildOptions& options) override;

 private:
  Variable scores(const Variable& query, const Variable& key) const override;
};

}  // namespace ronde::inline v0
