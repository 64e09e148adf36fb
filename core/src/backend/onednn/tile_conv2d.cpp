// Note [Tiles]
// Processors with AMX multiply tiles of bfloat16 many times as fast as floats. In mixed precision, where
// operands were bfloat16, convolutions with stride 1 and products of matrices (products.cpp) are made of
// tiles; sums are floats. What is multiplied next is rounded as it is made, right into the frame where the
// next kernel reads it: the result of a layer in front, and the gradient behind a pooling. One image at a
// time, or some small ones, go through a layer in a thread's second level cache. A denormal number counts as
// 0; an infinite or NaN pixel may spread to other pixels and to all filters.
#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// A first layer's gradient of one channel takes longer to be brought into tiles than it does in float.
bool is_tiled_first_layer(const ConvProblem& p) {
  const TileConvShape s = tile_shape(with_pass(p, ConvPass::forward));
  return s.has_few_channels() && (p.pass == ConvPass::forward || 2 * s.tap_depth() >= kTileColumns);
}

}  // namespace

bool OneDnnBackend::is_tiled(const ConvProblem& p) const {
  if (!kernels_.tiles || !kernels_.tiles->conv || p.params.products != Products::rounded ||
      p.params.groups != 1)
    return false;
  if (!(p.params.stride == Size2d{}) || !(p.params.dilation == Size2d{})) return false;
  const Padding2d& pad = p.params.padding;
  return p.o >= kTileColumns && (p.c >= kTileColumns || is_tiled_first_layer(p)) &&
         std::max(pad.top, pad.bottom) < p.kh && std::max(pad.left, pad.right) < p.kw;
}

TileConvShape tile_shape(const ConvProblem& p) {
  const Padding2d& pad = p.params.padding;
  if (p.pass == ConvPass::backward_input)
    return {.h = p.oh,
            .w = p.ow,
            .c = p.o,
            .oh = p.h,
            .ow = p.w,
            .o = p.c,
            .kh = p.kh,
            .kw = p.kw,
            .top = p.kh - 1 - pad.top,
            .left = p.kw - 1 - pad.left};
  return {.h = p.h,
          .w = p.w,
          .c = p.c,
          .oh = p.oh,
          .ow = p.ow,
          .o = p.o,
          .kh = p.kh,
          .kw = p.kw,
          .top = pad.top,
          .left = pad.left};
}

}  // namespace ronde::inline v0
