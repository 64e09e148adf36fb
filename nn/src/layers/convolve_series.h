/// What the layers that convolve sequences (n, steps, c) do: as images of one row.
#pragma once

#include <cstdint>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/conv1d.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

std::string to_string(Padding1D padding);
Padding1D read_padding1d(const LayerConfig& config);

/// How a kernel moves along sequences.
struct SeriesWindow {
  std::int64_t kernel, strides, dilation;
  Padding1D padding;
};

/// The call of conv2d for sequences of so many steps; an error that names the layer where the window does not
/// fit into them.
Conv2dOptions series_call(const Module& layer, std::int64_t steps, const SeriesWindow& window,
                          std::int64_t groups);
/// conv2d of rows (n, 1, steps, c), as sequences, and the activation, which is a part of it if it is a relu.
Variable convolve_row(const Variable& row, const Variable& kernel, const Variable& bias, Conv2dOptions call,
                      Activation::Kind activation);

}  // namespace ronde::inline v0
