#include "ops/window.h"

#include <algorithm>
#include <limits>

#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {
namespace {

// So that sums of extents, and products of two, are numbers.
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

// Zeros needed around `in` elements for `out` windows.
std::int64_t missing(std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride) {
  return std::max<std::int64_t>((out - 1) * stride + window - in, 0);
}

}  // namespace

Windows place_windows(const char* op, Size2d image, Size2d window, Size2d stride, Padding padding) {
  const auto [h, w] = image;
  require<UsageError>(window.h > 0 && window.w > 0 && stride.h > 0 && stride.w > 0, "[", op,
                      "] window and stride must be positive, got ", window.h, "x", window.w, " and ",
                      stride.h, "x", stride.w);
  if (padding == Padding::valid) {
    require(h >= window.h && w >= window.w, "[", op, "] a window of ", window.h, "x", window.w,
            " does not fit into an image of ", h, "x", w);
    return {.out = {(h - window.h) / stride.h + 1, (w - window.w) / stride.w + 1}, .padding = {}};
  }
  const Size2d out{ceil_divide(h, stride.h), ceil_divide(w, stride.w)};
  const std::int64_t rows = missing(h, out.h, window.h, stride.h);
  const std::int64_t columns = missing(w, out.w, window.w, stride.w);
  // An odd number puts the extra one at the bottom and at the right.
  return {
      .out = out,
      .padding = {
          .top = rows / 2, .bottom = rows - rows / 2, .left = columns / 2, .right = columns - columns / 2}};
}

void require_margins(const char* op, const Margins2d& margins) {
  const auto [top, bottom, left, right] = margins;
  require<UsageError>(
      std::min({top, bottom, left, right}) >= 0 && std::max({top, bottom, left, right}) <= kMost, "[", op,
      "] margins must be in 0 ... 2^31 - 1, got ", top, ", ", bottom, ", ", left, ", ", right);
}

PlacedConv2d place_conv2d(Size2d image, const Tensor& weight, const Conv2dOptions& options) {
  const Margins2d& m = options.margins;
  require_margins("conv2d", m);
  const auto [dh, dw] = options.dilation;
  require<UsageError>(std::min(dh, dw) > 0 && std::max(dh, dw) <= kMost,
                      "[conv2d] dilation must be in 1 ... 2^31 - 1, got ", dh, "x", dw);
  const Size2d window{(weight.size(1) - 1) * dh + 1, (weight.size(2) - 1) * dw + 1};
  const Size2d padded{image.h + m.top + m.bottom, image.w + m.left + m.right};
  const Windows windows = place_windows("conv2d", padded, window, options.stride, options.padding);
  const Padding2d& own = windows.padding;
  return {.out = windows.out,
          .params = {.stride = options.stride,
                     .padding = {.top = m.top + own.top,
                                 .bottom = m.bottom + own.bottom,
                                 .left = m.left + own.left,
                                 .right = m.right + own.right},
                     .dilation = options.dilation,
                     .groups = options.groups}};
}

PlacedPool place_pool(const char* op, Size2d image, const Pool2dOptions& options) {
  const Size2d stride = options.stride.value_or(options.window);
  const Windows windows = place_windows(op, image, options.window, stride, options.padding);
  const std::int64_t elements = product_or_most(options.window.h, options.window.w);
  require<UsageError>(elements <= kMost, "[", op, "] a window must have at most 2^31 - 1 elements, got ",
                      elements);
  const bool fits_a_byte = elements <= 256;
  return {.out = windows.out,
          .params = {.window = options.window, .stride = stride, .padding = windows.padding},
          .argmax_type = fits_a_byte ? DType::u8 : DType::i32};
}

}  // namespace ronde::inline v0
