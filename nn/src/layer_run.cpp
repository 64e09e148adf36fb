#include "layer_run.h"

#include <ronde/nn/activation.h>
#include <ronde/nn/relu.h>

namespace ronde::inline v0 {

namespace {

bool is_relu(const Activation& layer) {
  return layer.kind() == Activation::relu;
}

bool is_plain(const ReLU& layer) {
  return !layer.options().max_value && layer.options().negative_slope == 0.0;
}

bool is_elementwise(const Dropout& layer) {
  return layer.is_elementwise();
}

}  // namespace

Dropout* LayerRun::next_dropout() {
  return next<Dropout>(is_elementwise);
}

bool LayerRun::next_is_relu() {
  return next<Activation>(is_relu) != nullptr || next<ReLU>(is_plain) != nullptr;
}

}  // namespace ronde::inline v0
