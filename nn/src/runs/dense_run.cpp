#include "runs/dense_run.h"

#include <optional>

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

namespace {

bool has_relu(const Dense& layer) {
  return layer.call().epilogue == Epilogue::relu;
}

}  // namespace

DenseRun::DenseRun(std::span<Module* const> layers, const Variable& x, const Context&) : LayerRun(layers) {
  dense_ = next<Dense>(has_relu);
  if (!dense_) return;
  if (x.shape().rank() != 2 || x.shape().tail(1) != dense_->input_shape()) {
    clear();
    return;
  }
  dropout_ = next_dropout();
}

Variable DenseRun::operator()(const Variable& x, const Context& context) const {
  const Variable rows = first().in_compute_dtype(x);
  const DenseCall call = dense_->call();
  const std::optional<DropoutCall> drop = dropout_->call(x, context);
  return drop ? dense_dropout(rows, call, *drop) : dense(rows, call.weight, call.bias, call.epilogue);
}

}  // namespace ronde::inline v0
