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

bool is_relu6(const Activation& layer) {
  return layer.kind() == Activation::relu6;
}

bool is_relu6(const ReLU& layer) {
  return layer.options().max_value == 6.0 && layer.options().negative_slope == 0.0;
}

bool is_elementwise(const Dropout& layer) {
  return layer.is_elementwise();
}

}  // namespace

bool LayerRun::next_is_relu6() {
  return next<Activation>(is_relu6) != nullptr || next<ReLU>(is_relu6) != nullptr;
}

Dropout* LayerRun::next_dropout() {
  return next<Dropout>(is_elementwise);
}

bool LayerRun::next_is_relu() {
  return next<Activation>(is_relu) != nullptr || next<ReLU>(is_plain) != nullptr;
}

}  // namespace ronde::inline v0
