// Note [Tiles]
// Processors with AMX multiply tiles of bfloat16 many times as fast as floats. In mixed precision, where
// operands were bfloat16, convolutions with stride 1 between at least 16 channels and products of matrices
// (products.cpp) are made of tiles: what they read is rounded again where it was computed meanwhile (the
// result of a layer in front), sums are floats. Everything between the convolutions stays as it is, float and
// in the cache. A denormal number counts as 0; an infinite or NaN pixel may spread to all of its channel's
// filters.
#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

bool OneDnnBackend::is_tiled(const ConvProblem& p) const {
  if (!kernels_.tiles || !kernels_.tiles->conv || p.params.products != Products::rounded ||
      p.params.groups != 1)
    return false;
  if (!(p.params.stride == Size2d{}) || !(p.params.dilation == Size2d{})) return false;
  const Padding2d& pad = p.params.padding;
  return std::min(p.c, p.o) >= kTileColumns && std::max(pad.top, pad.bottom) < p.kh &&
         std::max(pad.left, pad.right) < p.kw;
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

void ImagePass::prepare_tiles(const float* weight) {
  prepare_direct(weight);
  kernels_.tiles->conv_weights(tile_weights_.data(), weights_.data(), tile_shape_);
}

}  // namespace ronde::inline v0
