// Note [Winograd]
// F(4x4, 3x3) needs a quarter of a direct convolution's multiplications; after the transforms, two to two and
// a half times its speed is left. The price is rounding: in f32 a result is off by up to 1e-5 of the largest
// value in its tensor, where the direct kernels stay below 1e-6. RONDE_CONV=direct chooses these.
// Both keep a fixed order of operations: a batch cut into the same chunks gives the same bits.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <ronde/core/error.h>
#include <ronde/core/thread_pool.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// Transformed weights that the second level cache can hold beside a block of tiles: four times as many were
// slower than oneDNN.
constexpr std::int64_t kMostWeights = 128 * 128;
// Of the pixels that the tiles of an image have, at least this share must be pixels of the image.
constexpr double kLeastUse = 0.4;

}  // namespace

ConvAlgorithm chosen_conv_algorithm() {
  const char* wanted = std::getenv("RONDE_CONV");
  if (!wanted || !*wanted || std::string_view(wanted) == "winograd") return ConvAlgorithm::winograd;
  require<UsageError>(std::string_view(wanted) == "direct", "[conv2d] RONDE_CONV=", wanted,
                      " is none of winograd, direct");
  return ConvAlgorithm::direct;
}

WinogradShape winograd_shape(const ConvProblem& p) {
  return {.h = p.h,
          .w = p.w,
          .c = p.c,
          .oh = p.oh,
          .ow = p.ow,
          .o = p.o,
          .top = p.params.padding.top,
          .left = p.params.padding.left,
          .tiles_h = (p.oh + 3) / 4,
          .tiles_w = (p.ow + 3) / 4};
}

bool OneDnnBackend::is_winograd(const ConvProblem& p) const {
  const Padding2d& pad = p.params.padding;
  if (!uses_winograd_ || p.kh != 3 || p.kw != 3 || p.params.groups != 1) return false;
  if (!(p.params.stride == Size2d{}) || !(p.params.dilation == Size2d{})) return false;
  if (std::max({pad.top, pad.bottom, pad.left, pad.right}) > 2) return false;
  if (p.c % kernels_.lanes != 0 || p.o % kernels_.lanes != 0 || p.c * p.o > kMostWeights) return false;
  const WinogradShape s = winograd_shape(p);
  const std::int64_t pixels = 16 * s.tiles_h * s.tiles_w;
  return static_cast<double>(p.oh * p.ow) >= kLeastUse * static_cast<double>(pixels);
}

// The weights of one input channel (backwards: of one filter) at a time, which the threads share: done by one
// of them, it took as long as a tenth of the convolution of a small batch.
void ImagePass::prepare_winograd(const float* weight) {
  constexpr std::int64_t kGrain = 8192;  // weights
  const ConvProblem& p = problem_;
  const bool forward = p.pass == ConvPass::forward;
  const std::int64_t rows = forward ? p.c : p.o, width = forward ? p.o : p.c,
                     point = winograd_point(p.c * p.o);
  const std::int64_t grain = std::max<std::int64_t>(kGrain / (9 * width), 1);
  backend_.threads().parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> by_tap(backend_, 9 * width);
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t cell = 0; cell < 9; ++cell)
        for (std::int64_t i = 0; i < width; ++i)
          by_tap.data()[cell * width + i] =
              forward ? weight[(i * 9 + cell) * p.c + row] : weight[(row * 9 + cell) * p.c + i];
      kernels_.winograd_weights(weights_.data() + row * width, point, by_tap.data(), width);
    }
  });
}

}  // namespace ronde::inline v0
