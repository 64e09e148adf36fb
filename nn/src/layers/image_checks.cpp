#include "layers/image_checks.h"

#include <algorithm>

namespace ronde::inline v0 {

void require_images(const Module& layer, const Shape& shape) {
  require(shape.rank() == 4, "[", layer.label(), "] expects images (n, h, w, c), got ", shape,
          shape.rank() == 3 ? "; sequences (n, steps, c) have layers of their own, as Conv1D" : "");
}

void require_window_fits(const Module& layer, const Shape& shape, Size2d window, Size2d dilation,
                         Padding padding, const Margins2d& margins) {
  const std::int64_t h = (window.h - 1) * dilation.h + 1, w = (window.w - 1) * dilation.w + 1;
  const std::int64_t rows = shape[1] + margins.top + margins.bottom,
                     columns = shape[2] + margins.left + margins.right;
  require(padding == Padding::same || (h <= rows && w <= columns), "[", layer.label(), "] a window of ", h,
          " x ", w, " does not fit into images of ", rows, " x ", columns);
}

void require_positive(const Module& layer, const char* what, Size2d size, std::int64_t most) {
  require<UsageError>(std::min(size.h, size.w) > 0 && std::max(size.h, size.w) <= most, "[", layer.label(),
                      "] ", what, " must be in 1 ... ", most, ", got ", size.h, " x ", size.w);
}

void require_last_axis(const Module& layer, std::int64_t axis, const Shape& shape) {
  require(shape.rank() >= 2, "[", layer.label(), "] expects inputs of shape (n, ..., channels), got ", shape);
  require<UsageError>(axis == -1 || axis == static_cast<std::int64_t>(shape.rank()) - 1, "[", layer.label(),
                      "] axis: ", axis, " of inputs ", shape, " is not supported, only the last axis");
}

}  // namespace ronde::inline v0
