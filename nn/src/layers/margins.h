/// Margins of a ZeroPadding2D that a convolution behind it takes for its own.
#pragma once

#include <algorithm>

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// Whether the layer's windows reach over the margins into the image; it has no padding of its own.
template <class Convolution>
bool takes_margins(const Convolution& layer, const Margins2d& margins) {
  const auto& options = layer.options();
  return options.padding == Padding::valid &&
         std::max(margins.top, margins.bottom) <= (options.kernel.h - 1) * options.dilation.h &&
         std::max(margins.left, margins.right) <= (options.kernel.w - 1) * options.dilation.w;
}

}  // namespace ronde::inline v0
