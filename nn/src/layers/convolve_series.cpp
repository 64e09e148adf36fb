#include "layers/convolve_series.h"

#include "layers/fused_activation.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kPaddings[] = {"valid", "same", "causal"};  // in the order of Padding1D

}  // namespace

std::string to_string(Padding1D padding) {
  return kPaddings[static_cast<int>(padding)];
}

Padding1D read_padding1d(const LayerConfig& config) {
  const std::string name = config.text("padding", kPaddings[0]);
  for (int i = 0; i < 3; ++i)
    if (name == kPaddings[i]) return static_cast<Padding1D>(i);
  config.refuse("padding", cat("\"", name, "\" is not supported, only valid, same and causal"));
}

Conv2dOptions series_call(const Module& layer, std::int64_t steps, const SeriesWindow& window,
                          std::int64_t groups) {
  const std::int64_t reach = (window.kernel - 1) * window.dilation;
  if (window.padding == Padding1D::valid) require_window_fits(layer, steps, reach + 1);
  return {.stride = {1, window.strides},
          .padding = window.padding == Padding1D::same ? Padding::same : Padding::valid,
          .dilation = {1, window.dilation},
          .groups = groups,
          .margins = {.left = window.padding == Padding1D::causal ? reach : 0}};
}

Variable convolve_row(const Variable& row, const Variable& kernel, const Variable& bias, Conv2dOptions call,
                      Activation::Kind activation) {
  call.epilogue = epilogue_of(activation);
  return apply_rest(activation, from_row(conv2d(row, kernel, bias, call)));
}

}  // namespace ronde::inline v0
