#include <ronde/nn/attention_layer.h>

#include <algorithm>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/philox.h>

#include "layers/masked_steps.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

namespace {

/// What is added to scores of steps that are left out, as Keras 2 does: softmax makes 0 of them.
constexpr double kLeftOut = -1e9;

}  // namespace

double AttentionLayer::checked_dropout(double dropout, const std::string& name, const char* unnamed) {
  require<UsageError>(dropout >= 0.0 && dropout < 1.0, "[", name.empty() ? unnamed : name,
                      "] dropout must be in [0, 1), got ", dropout);
  return dropout;
}

void AttentionLayer::require_input(const char* name, const Shape& shape, const Shape& expected) const {
  require_sequences(*this, shape);
  require(shape == expected, "[", label(), "] expects a ", name, " of shape ", expected, ", got ", shape);
}

Tensor AttentionLayer::causal_mask(std::int64_t t, std::int64_t s, TensorOptions options) {
  const Tensor mask = Tensor::full({t, s}, kLeftOut, options);
  for (std::int64_t i = 0; i < t; ++i) mask.slice(0, i, i + 1).slice(1, 0, std::min(i + 1, s)).fill(0.0);
  return mask;
}

/// (t, s); that of the shape that the net was built for is kept.
Tensor AttentionLayer::kept_causal_mask(const Shape& shape, TensorOptions wanted, const Context& context) {
  const Tensor& kept = causal_mask_;
  const bool is_there = kept.defined() && kept.shape() == shape && kept.dtype() == wanted.dtype &&
                        &kept.backend() == wanted.backend;
  const Tensor mask = is_there ? kept : causal_mask(shape[0], shape[1], wanted);
  if (context.trace != nullptr) causal_mask_ = mask;
  return mask;
}

Variable AttentionLayer::causal(const Variable& scores, const Context& context) {
  if (!use_causal_mask()) return scores;
  return scores + kept_causal_mask({scores.size(-2), scores.size(-1)}, scores.value().options(), context);
}

Tensor AttentionLayer::query_mask(const Variable& x) const {
  const Tensor mask = mask_column(*this, x);
  return mask.defined() ? mask.reshape({mask.size(0), 1, mask.size(1), 1}) : mask;
}

Tensor AttentionLayer::value_mask(const Variable& x) const {
  const Tensor mask = mask_column(*this, x);
  return mask.defined() ? mask.reshape({mask.size(0), 1, 1, mask.size(1)}) : mask;
}

Tensor AttentionLayer::allowed(const Shape& shape, const std::vector<Tensor>& masks, const Context& context) {
  Tensor result;
  const auto restrict_to = [&](const Tensor& mask) {
    if (!result.defined()) result = Tensor::full(shape, 1.0, mask.options());
    result.backend().binary(BinaryOp::multiply, result, result, mask.broadcast_to(shape));
  };
  for (const Tensor& mask : masks)
    if (mask.defined()) restrict_to(mask);
  if (!result.defined() || !use_causal_mask()) return result;
  const Tensor causal = kept_causal_mask({shape[2], shape[3]}, result.options(), context);
  restrict_to(mask_without(causal, kLeftOut).to(result.dtype()));
  return result;
}

Tensor AttentionLayer::added_for(const Tensor& allowed) {
  const Tensor added = Tensor::empty_like(allowed);
  allowed.backend().unary(UnaryOp::affine, added, allowed, {.alpha = -kLeftOut, .beta = kLeftOut});
  return added;
}

Variable AttentionLayer::dropped(const Variable& weights, const Context& context) {
  std::optional<DropoutCall> drop = dropout_.call(weights, context);
  if (!drop) return weights;
  drop->params.op = hash_name(path());
  return dropout(weights, drop->sample_keys, drop->params);
}

}  // namespace ronde::inline v0
