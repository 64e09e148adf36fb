// Note [Winograd]
// F(4x4, 3x3) needs a quarter of a direct convolution's multiplications; after the transforms, two to two and
// a half times its speed is left. The price is rounding: in f32 a result is off by up to 1e-5 of the largest
// value in its tensor, where the direct kernels stay below 1e-6. RONDE_CONV=direct chooses these.
// Both keep a fixed order of operations: a batch cut into the same chunks gives the same bits.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <ronde/core/error.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

namespace {

// Transformed weights that the second level cache can hold beside a block of tiles: four times as many were
// slower than oneDNN.
constexpr std::int64_t kMostWeights = 128 * 128;
// Of the pixels that the tiles of an image have, at least this share must be pixels of the image.
constexpr double kLeastUse = 0.4;

WinogradShape shape_of(const ConvProblem& p) {
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

std::int64_t u_count(const ConvProblem& p) {
  return kWinogradPoints * winograd_point(p.c * p.o);
}

}  // namespace

ConvAlgorithm chosen_conv_algorithm() {
  const char* wanted = std::getenv("RONDE_CONV");
  if (!wanted || !*wanted || std::string_view(wanted) == "winograd") return ConvAlgorithm::winograd;
  require<UsageError>(std::string_view(wanted) == "direct", "[conv2d] RONDE_CONV=", wanted,
                      " is none of winograd, direct");
  return ConvAlgorithm::direct;
}

bool OneDnnBackend::is_winograd(const ConvProblem& p) const {
  const Padding2d& pad = p.params.padding;
  if (!uses_winograd_ || p.kh != 3 || p.kw != 3 || p.params.groups != 1) return false;
  if (!(p.params.stride == Size2d{}) || !(p.params.dilation == Size2d{})) return false;
  if (std::max({pad.top, pad.bottom, pad.left, pad.right}) > 2) return false;
  if (p.c % kernels_.lanes != 0 || p.o % kernels_.lanes != 0 || p.c * p.o > kMostWeights) return false;
  const WinogradShape s = shape_of(p);
  const std::int64_t pixels = 16 * s.tiles_h * s.tiles_w;
  return static_cast<double>(p.oh * p.ow) >= kLeastUse * static_cast<double>(pixels);
}

void OneDnnBackend::winograd_conv2d(const ConvProblem& p, float* out, const float* x, const float* weight,
                                    const float* bias) {
  const std::int64_t taps = 9 * p.c;
  const Scratch<float> by_tap(*this, taps * p.o), u(*this, u_count(p));
  for (std::int64_t o = 0; o < p.o; ++o)
    for (std::int64_t t = 0; t < taps; ++t) by_tap.data()[t * p.o + o] = weight[o * taps + t];
  kernels_.winograd_weights(u.data(), by_tap.data(), p.c * p.o);
  threads().parallel_for(p.n, 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> scratch(*this, WinogradBlock::count(p.c, p.o));
    kernels_.winograd_conv(out + begin * p.oh * p.ow * p.o, x + begin * p.h * p.w * p.c, u.data(), bias,
                           shape_of(p), end - begin, scratch.data(),
                           p.relu ? Epilogue::relu : Epilogue::none);
  });
}

void OneDnnBackend::winograd_backward_input(const ConvProblem& p, float* grad_x, const float* grad_out,
                                            const float* weight) {
  const Scratch<float> by_tap(*this, 9 * p.o * p.c), u(*this, u_count(p));
  for (std::int64_t o = 0; o < p.o; ++o)
    for (std::int64_t cell = 0; cell < 9; ++cell)
      std::copy_n(weight + (o * 9 + cell) * p.c, p.c, by_tap.data() + (cell * p.o + o) * p.c);
  kernels_.winograd_weights(u.data(), by_tap.data(), p.c * p.o);
  threads().parallel_for(p.n, 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> scratch(*this, WinogradBlock::count(p.c, p.o));
    kernels_.winograd_backward_input(grad_x + begin * p.h * p.w * p.c, grad_out + begin * p.oh * p.ow * p.o,
                                     u.data(), shape_of(p), end - begin, scratch.data());
  });
}

void OneDnnBackend::winograd_backward_weight(const ConvProblem& p, float* grad_weight, float* grad_bias,
                                             const float* grad_out, const float* x) {
  const std::int64_t taps = 9 * p.c, count = (taps + 1) * p.o;  // the last row is the bias
  const int chunks = threads().chunks(p.n, 1);
  const Scratch<float> sums(*this, count * chunks);
  threads().parallel_chunks(p.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    float* sum = sums.data() + count * chunk;
    const Scratch<float> scratch(*this, winograd_gradient_scratch(p.c, p.o));
    kernels_.winograd_backward_weight(sum, grad_bias ? sum + taps * p.o : nullptr,
                                      grad_out + begin * p.oh * p.ow * p.o, x + begin * p.h * p.w * p.c,
                                      shape_of(p), end - begin, scratch.data());
  });
  collect_gradients(p, grad_weight, grad_bias, sums.data(), chunks);
}

}  // namespace ronde::inline v0
