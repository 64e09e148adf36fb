#include "runs/layer_run.h"

#include <ronde/nn/activation.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/relu.h>

namespace ronde::inline v0 {

namespace {

// Not a sigmoid: losses ask for its logits.
UnaryStage stage_of(const Activation& layer) {
  switch (layer.kind()) {
    case Activation::relu:
      return {.op = UnaryOp::relu};
    case Activation::relu6:
      return {.op = UnaryOp::clipped_relu, .params = {.alpha = 6.0}};
    case Activation::gelu:
      return {.op = UnaryOp::gelu};
    case Activation::silu:
      return {.op = UnaryOp::silu};
    default:
      return {};
  }
}

UnaryStage stage_of(const ReLU& layer) {
  const ReLUOptions& options = layer.options();
  if (options.negative_slope != 0.0) return {};
  if (!options.max_value) return {.op = UnaryOp::relu};
  return {.op = UnaryOp::clipped_relu, .params = {.alpha = *options.max_value}};
}

UnaryStage stage_of(const LeakyReLU& layer) {
  return {.op = UnaryOp::leaky_relu, .params = {.alpha = layer.negative_slope()}};
}

template <class Layer>
bool has_stage(const Layer& layer) {
  return !stage_of(layer).changes_nothing();
}

template <class Layer>
bool is_plain_relu(const Layer& layer) {
  return stage_of(layer).op == UnaryOp::relu;
}

bool is_elementwise(const Dropout& layer) {
  return layer.is_elementwise();
}

}  // namespace

UnaryStage LayerRun::next_activation() {
  if (const Activation* layer = next<Activation>(has_stage)) return stage_of(*layer);
  if (const ReLU* layer = next<ReLU>(has_stage)) return stage_of(*layer);
  if (const LeakyReLU* layer = next<LeakyReLU>()) return stage_of(*layer);
  return {};
}

Dropout* LayerRun::next_dropout() {
  return next<Dropout>(is_elementwise);
}

Add* LayerRun::next_add(const RunInput& input, const Shape& result) {
  const bool fits = input.addend.defined() && input.addend.size(0) == input.x.size(0) &&
                    input.addend.shape().tail(1) == result;
  return fits ? next<Add>() : nullptr;
}

UnaryStage LayerRun::next_relu() {
  const bool is_next = next<Activation>(is_plain_relu) != nullptr || next<ReLU>(is_plain_relu) != nullptr;
  return is_next ? UnaryStage{.op = UnaryOp::relu} : UnaryStage();
}

}  // namespace ronde::inline v0
