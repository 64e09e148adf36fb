// Attention, of which opset 13 has no operator: products of Einsum, which is as Keras writes it.
#include <cmath>

#include <ronde/nn/attention.h>
#include <ronde/nn/multi_head_attention.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// Nodes of one call, by their names behind the layer's.
class AttentionNodes {
 public:
  explicit AttentionNodes(const OnnxCall& call) : call_(call) {
    if (!dynamic_cast<const AttentionLayer&>(call.layer).use_causal_mask()) return;
    const std::int64_t t = call.inputs.front().shape[0];
    const std::int64_t s = call.inputs[call.inputs.size() > 1 ? 1 : 0].shape[0];
    mask_ = call.builder.constant(name(cat("mask/", t, "x", s)), AttentionLayer::causal_mask(t, s));
  }

  std::string add(const char* op, const std::string& what, std::vector<std::string> inputs,
                  std::vector<OnnxAttribute> attributes = {}) const {
    return call_.builder.graph().add_node(op, name(what), std::move(inputs), std::move(attributes));
  }
  std::string einsum(const std::string& what, const std::string& a, const std::string& b,
                     const std::string& equation) const {
    return add("Einsum", what, {a, b}, {{"equation", equation}});
  }
  /// One of the layer's weights, `scale` times.
  std::string weight(const std::string& what, double scale = 1.0) const {
    const Variable values = call_.builder.weight(call_.layer, what);
    return call_.builder.constant(name(what), (values * scale).value());
  }
  bool has_weight(const std::string& what) const { return call_.builder.has_weight(call_.layer, what); }
  std::string constant(const std::string& what, std::int64_t value) const {
    return call_.builder.graph().add_constant(name(what), std::vector<std::int64_t>{value});
  }

  /// Softmax of scores (..., t, s).
  std::string softmax(const std::string& scores) const {
    const std::string masked = mask_.empty() ? scores : add("Add", "masked", {scores, mask_});
    return add("Softmax", "weights", {masked}, {{"axis", std::int64_t{-1}}});
  }

 private:
  std::string name(const std::string& what) const { return cat(call_.name(), "/", what); }

  const OnnxCall& call_;
  std::string mask_;  // (t, s)
};

/// The projections of a MultiHeadAttention and what is between them.
class Heads {
 public:
  explicit Heads(const OnnxCall& call)
      : nodes_(call), options_(dynamic_cast<const MultiHeadAttention&>(call.layer).options()) {}

  std::string add(const std::string& query, const std::string& value, const std::string& key) const {
    const double scale = 1.0 / std::sqrt(static_cast<double>(options_.key_dim));
    const std::string q = project(query, MultiHeadAttention::query, "ntd,dhk->nthk", scale);
    const std::string k = project(key, MultiHeadAttention::key, "ntd,dhk->nthk");
    const std::string v = project(value, MultiHeadAttention::value, "ntd,dhk->nthk");
    const std::string weights = nodes_.softmax(nodes_.einsum("scores", q, k, "nthk,nshk->nhts"));
    const std::string averages = nodes_.einsum("averages", weights, v, "nhts,nshk->nthk");
    const auto extents = static_cast<std::size_t>(options_.output_shape.rank());
    const std::string result = std::string("abcefg").substr(0, extents);
    return project(averages, MultiHeadAttention::output,
                   result.empty() ? "nthk,hka->nta" : cat("nthk,hk", result, "->nt", result));
  }

 private:
  std::string project(const std::string& x, MultiHeadAttention::Part part, const std::string& equation,
                      double scale = 1.0) const {
    const std::string what = MultiHeadAttention::kPartNames[part];
    const std::string y =
        nodes_.einsum(what + "/product", x, nodes_.weight(what + "/kernel", scale), equation);
    return options_.use_bias ? nodes_.add("Add", what, {y, nodes_.weight(what + "/bias", scale)}) : y;
  }

  AttentionNodes nodes_;
  const MultiHeadAttentionOptions& options_;
};

std::vector<OnnxValue> sequences(const OnnxCall& call) {
  std::vector<OnnxValue> inputs;
  for (const OnnxValue& input : call.inputs) inputs.push_back(call.builder.channels_last(input));
  return inputs;
}

/// tanh of each step of q plus each of k: (n, t, s, d).
std::string tanh_of_pairs(const AttentionNodes& nodes, const std::string& q, const std::string& k) {
  const std::string columns = nodes.add("Unsqueeze", "queries", {q, nodes.constant("queries/axis", 2)});
  const std::string rows = nodes.add("Unsqueeze", "keys", {k, nodes.constant("keys/axis", 1)});
  return nodes.add("Tanh", "tanh", {nodes.add("Add", "pairs", {columns, rows})});
}

std::string sum_of_features(const AttentionNodes& nodes, const std::string& pairs) {
  return nodes.add("ReduceSum", "scores", {pairs, nodes.constant("scores/axis", 3)},
                   {{"keepdims", std::int64_t{0}}});
}

std::string scaled(const AttentionNodes& nodes, const char* weight, const std::string& x,
                   const std::string& what) {
  return nodes.has_weight(weight) ? nodes.add("Mul", what, {x, nodes.weight(weight)}) : x;
}

using Scores = std::string (*)(const AttentionNodes& nodes, const std::string& query, const std::string& key);

std::string scores_of_products(const AttentionNodes& nodes, const std::string& q, const std::string& k) {
  return scaled(nodes, "scale", nodes.einsum("products", q, k, "ntd,nsd->nts"), "scores");
}

std::string scores_of_sums(const AttentionNodes& nodes, const std::string& q, const std::string& k) {
  const std::string key = scaled(nodes, "scale", k, "scaled_key");
  const std::string query = scaled(nodes, "scale", q, "scaled_query");
  const std::string pairs = tanh_of_pairs(nodes, query, key);
  return scaled(nodes, "concat_score_weight", sum_of_features(nodes, pairs), "weighted");
}

std::string additive_scores(const AttentionNodes& nodes, const std::string& q, const std::string& k) {
  const std::string pairs = tanh_of_pairs(nodes, q, k);
  if (!nodes.has_weight("scale")) return sum_of_features(nodes, pairs);
  return nodes.einsum("scores", pairs, nodes.weight("scale"), "ntsd,d->nts");
}

OnnxValue attend(const OnnxCall& call, Scores scores) {
  const AttentionNodes nodes(call);
  const std::vector<OnnxValue> inputs = sequences(call);
  const std::string weights = nodes.softmax(scores(nodes, inputs[0].name, inputs.back().name));
  return {nodes.einsum("averages", weights, inputs[1].name, "nts,nsd->ntd"),
          {inputs[0].shape[0], inputs[1].shape[1]}};
}

}  // namespace

OnnxValue onnx_additive_attention(const OnnxCall& call) {
  return attend(call, additive_scores);
}

OnnxValue onnx_attention(const OnnxCall& call) {
  const bool adds = dynamic_cast<const Attention&>(call.layer).options().score_mode == ScoreMode::concat;
  return attend(call, adds ? scores_of_sums : scores_of_products);
}

OnnxValue onnx_multi_head_attention(const OnnxCall& call) {
  const std::vector<OnnxValue> inputs = sequences(call);
  const OnnxValue &x = inputs.front(), &values = inputs[inputs.size() > 1 ? 1 : 0];
  Shape shape{x.shape[0]};
  for (const std::int64_t extent : call.layer.output_shape().tail(2)) shape.push_back(extent);
  return {Heads(call).add(x.name, values.name, inputs.back().name), shape};
}

}  // namespace ronde::inline v0
