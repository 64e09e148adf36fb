// Convolutions by our own kernels, for most layers: they reach 200-230 GF/s on a core where oneDNN 2.6 on
// NHWC reaches 180-225 (forward, input gradient) and 140-165 (weight gradient), and need no layout of their
// own. The kernels know no padding: a padded image is copied into a frame of zeros, which stays in the cache.
#include <algorithm>
#include <utility>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// Pixels of an image that pay for going through all weight gradients once.
constexpr std::int64_t kLeastPixels = 16;

std::int64_t taps_of(const ConvProblem& p) {
  return p.kh * p.kw * p.c;
}

}  // namespace

bool OneDnnBackend::is_direct(const ConvProblem& p) const {
  if (p.params.groups != 1 || !(p.params.dilation == Size2d{})) return false;
  if (p.pass == ConvPass::backward_weight) return p.o >= kernels_.lanes && p.oh * p.ow >= kLeastPixels;
  if (taps_of(p) * p.o > kMostDirectWeights) return false;
  if (p.pass == ConvPass::forward) return p.o >= kernels_.lanes;
  const Padding2d& pad = p.params.padding;
  return p.c >= kernels_.lanes && p.params.stride == Size2d{} && std::max(pad.top, pad.bottom) < p.kh &&
         std::max(pad.left, pad.right) < p.kw;
}

// The gradient of x is a convolution of the output's gradient with the filters turned round.
void ImagePass::prepare_direct(const float* weight) {
  ConvProblem& p = problem_;
  float* by_tap = weights_.data();  // (kh * kw * c, o) of the convolution that is run
  if (p.pass == ConvPass::forward) {
    const std::int64_t taps = taps_of(p);
    for (std::int64_t o = 0; o < p.o; ++o)
      for (std::int64_t t = 0; t < taps; ++t) by_tap[t * p.o + o] = weight[o * taps + t];
    return;
  }
  const std::int64_t cells = p.kh * p.kw;
  for (std::int64_t o = 0; o < p.o; ++o)
    for (std::int64_t cell = 0; cell < cells; ++cell)
      std::copy_n(weight + (o * cells + cell) * p.c, p.c, by_tap + ((cells - 1 - cell) * p.o + o) * p.c);
  const Padding2d& pad = p.params.padding;
  p.params.padding = {p.kh - 1 - pad.top, p.kh - 1 - pad.bottom, p.kw - 1 - pad.left, p.kw - 1 - pad.right};
  std::swap(p.h, p.oh);
  std::swap(p.w, p.ow);
  std::swap(p.c, p.o);
}

}  // namespace ronde::inline v0
