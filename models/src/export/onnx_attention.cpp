// Attention, of which opset 13 has no operator: products of Einsum, which is as Keras writes it.
#include <cmath>

#include <ronde/nn/multi_head_attention.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

class AttentionNodes {
 public:
  explicit AttentionNodes(const OnnxCall& call)
      : call_(call), options_(dynamic_cast<const MultiHeadAttention&>(call.layer).options()) {}

  std::string add(const std::string& query, const std::string& value, const std::string& key,
                  const std::string& mask) const {
    const double scale = 1.0 / std::sqrt(static_cast<double>(options_.key_dim));
    const std::string q = project(query, MultiHeadAttention::query, "ntd,dhk->nthk", scale);
    const std::string k = project(key, MultiHeadAttention::key, "ntd,dhk->nthk");
    const std::string v = project(value, MultiHeadAttention::value, "ntd,dhk->nthk");
    std::string weights = node("Einsum", "scores", q, k, {"equation", "nthk,nshk->nhts"});
    if (!mask.empty()) weights = node("Add", "masked", weights, mask);
    weights =
        call_.builder.graph().add_node("Softmax", name("weights"), {weights}, {{"axis", std::int64_t{-1}}});
    const std::string averages = node("Einsum", "averages", weights, v, {"equation", "nhts,nshk->nthk"});
    const auto extents = static_cast<std::size_t>(options_.output_shape.rank());
    const std::string result = std::string("abcefg").substr(0, extents);
    return project(averages, MultiHeadAttention::output,
                   result.empty() ? "nthk,hka->nta" : cat("nthk,hk", result, "->nt", result));
  }

 private:
  std::string name(const std::string& what) const { return cat(call_.name(), "/", what); }

  std::string node(const char* op, const std::string& what, const std::string& a, const std::string& b,
                   const OnnxAttribute& attribute = {}) const {
    std::vector<OnnxAttribute> attributes;
    if (!attribute.name.empty()) attributes.push_back(attribute);
    return call_.builder.graph().add_node(op, name(what), {a, b}, std::move(attributes));
  }

  /// One of the layer's weights, `scale` times.
  std::string weight(const std::string& what, double scale) const {
    const Variable values = call_.builder.weight(call_.layer, what);
    return call_.builder.constant(name(what), (values * scale).value());
  }

  std::string project(const std::string& x, MultiHeadAttention::Part part, const std::string& equation,
                      double scale = 1.0) const {
    const std::string what = MultiHeadAttention::kPartNames[part];
    const std::string y =
        node("Einsum", what + "/product", x, weight(what + "/kernel", scale), {"equation", equation});
    return options_.use_bias ? node("Add", what, y, weight(what + "/bias", scale)) : y;
  }

  const OnnxCall& call_;
  const MultiHeadAttentionOptions& options_;
};

}  // namespace

OnnxValue onnx_multi_head_attention(const OnnxCall& call) {
  std::vector<OnnxValue> inputs;
  for (const OnnxValue& input : call.inputs) inputs.push_back(call.builder.channels_last(input));
  const OnnxValue &x = inputs.front(), &values = inputs[inputs.size() > 1 ? 1 : 0];
  const MultiHeadAttentionOptions& options = dynamic_cast<const MultiHeadAttention&>(call.layer).options();
  std::string mask;
  if (options.use_causal_mask)
    mask = call.builder.constant(cat(call.name(), "/mask/", x.shape[0], "x", values.shape[0]),
                                 MultiHeadAttention::causal_mask(x.shape[0], values.shape[0]));
  Shape shape{x.shape[0]};
  for (const std::int64_t extent : call.layer.output_shape().tail(2)) shape.push_back(extent);
  return {AttentionNodes(call).add(x.name, values.name, inputs.back().name, mask), shape};
}

}  // namespace ronde::inline v0
