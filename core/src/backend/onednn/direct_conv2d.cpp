// Convolutions by our own kernels, for most layers: they reach 200-230 GF/s on a core where oneDNN 2.6 on
// NHWC reaches 180-225 (forward, input gradient) and 140-165 (weight gradient), and need no layout of their
// own. The kernels know no padding: a padded image is copied into a frame of zeros, which stays in the cache.
#include <algorithm>
#include <utility>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

namespace {

// All weights go by for each block of pixels: more of them than the second level cache holds and oneDNN,
// which cuts them into pieces, is faster.
constexpr std::int64_t kMostWeights = 65536;
// Pixels of an image that pay for going through all weight gradients once.
constexpr std::int64_t kLeastPixels = 16;

std::int64_t taps_of(const ConvProblem& p) {
  return p.kh * p.kw * p.c;
}

// Images as the kernel wants them: themselves, or copied into a frame of zeros.
class PaddedImages {
 public:
  PaddedImages(Backend& backend, const ConvProblem& p)
      : problem_(p),
        h_((p.oh - 1) * p.params.stride.h + p.kh),
        w_((p.ow - 1) * p.params.stride.w + p.kw),
        padded_(!(p.params.padding == Padding2d{})),
        frame_(backend, padded_ ? h_ * w_ * p.c : 0) {
    if (padded_) std::fill_n(frame_.data(), h_ * w_ * p.c, 0.0f);
  }

  ConvShape shape() const {
    const ConvProblem& p = problem_;
    return {.h = padded_ ? h_ : p.h,
            .w = padded_ ? w_ : p.w,
            .c = p.c,
            .oh = p.oh,
            .ow = p.ow,
            .o = p.o,
            .kh = p.kh,
            .kw = p.kw,
            .stride_h = p.params.stride.h,
            .stride_w = p.params.stride.w};
  }

  const float* operator()(const float* image) const {
    if (!padded_) return image;
    const ConvProblem& p = problem_;
    const Padding2d& pad = p.params.padding;
    const std::int64_t rows = std::min(p.h, h_ - pad.top), columns = std::min(p.w, w_ - pad.left);
    for (std::int64_t y = 0; y < rows; ++y)
      std::copy_n(image + y * p.w * p.c, std::max<std::int64_t>(columns, 0) * p.c,
                  frame_.data() + ((y + pad.top) * w_ + pad.left) * p.c);
    return frame_.data();
  }

 private:
  const ConvProblem& problem_;
  std::int64_t h_, w_;
  bool padded_;
  Scratch<float> frame_;
};

}  // namespace

bool OneDnnBackend::is_direct(const ConvProblem& p) const {
  if (p.params.groups != 1 || !(p.params.dilation == Size2d{})) return false;
  if (p.pass == ConvPass::backward_weight) return p.o % kernels_.lanes == 0 && p.oh * p.ow >= kLeastPixels;
  if (taps_of(p) * p.o > kMostWeights) return false;
  if (p.pass == ConvPass::forward) return p.o % kernels_.lanes == 0;
  const Padding2d& pad = p.params.padding;
  return p.c % kernels_.lanes == 0 && p.params.stride == Size2d{} && std::max(pad.top, pad.bottom) < p.kh &&
         std::max(pad.left, pad.right) < p.kw;
}

void OneDnnBackend::direct_conv2d(const ConvProblem& p, float* out, const float* x, const float* weight,
                                  const float* bias) {
  const std::int64_t taps = taps_of(p);
  const Scratch<float> by_tap(*this, taps * p.o);
  for (std::int64_t o = 0; o < p.o; ++o)
    for (std::int64_t t = 0; t < taps; ++t) by_tap.data()[t * p.o + o] = weight[o * taps + t];
  run_direct(p, out, x, by_tap.data(), bias);
}

// The gradient of x is a convolution of the output's gradient with the filters turned round.
void OneDnnBackend::direct_backward_input(const ConvProblem& p, float* grad_x, const float* grad_out,
                                          const float* weight) {
  const Padding2d& pad = p.params.padding;
  ConvProblem turned = p;
  std::swap(turned.h, turned.oh);
  std::swap(turned.w, turned.ow);
  std::swap(turned.c, turned.o);
  turned.params.padding = {p.kh - 1 - pad.top, p.kh - 1 - pad.bottom, p.kw - 1 - pad.left,
                           p.kw - 1 - pad.right};
  const std::int64_t cells = p.kh * p.kw;
  const Scratch<float> by_tap(*this, cells * p.o * p.c);
  for (std::int64_t o = 0; o < p.o; ++o)
    for (std::int64_t cell = 0; cell < cells; ++cell)
      std::copy_n(weight + (o * cells + cell) * p.c, p.c,
                  by_tap.data() + ((cells - 1 - cell) * p.o + o) * p.c);
  run_direct(turned, grad_x, grad_out, by_tap.data(), nullptr);
}

// `by_tap` is (kh * kw * c, o).
void OneDnnBackend::run_direct(const ConvProblem& p, float* out, const float* x, const float* by_tap,
                               const float* bias) {
  threads().parallel_for(p.n, 1, [&](std::int64_t begin, std::int64_t end) {
    const PaddedImages images(*this, p);
    for (std::int64_t i = begin; i < end; ++i)
      kernels_.direct_conv(out + i * p.oh * p.ow * p.o, images(x + i * p.h * p.w * p.c), by_tap, bias,
                           images.shape(), p.relu ? Epilogue::relu : Epilogue::none);
  });
}

void OneDnnBackend::direct_backward_weight(const ConvProblem& p, float* grad_weight, float* grad_bias,
                                           const float* grad_out, const float* x) {
  const std::int64_t taps = taps_of(p), count = (taps + 1) * p.o;  // the last row is the bias
  const int chunks = threads().chunks(p.n, 1);
  const Scratch<float> sums(*this, count * chunks);
  threads().parallel_chunks(p.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    float* sum = sums.data() + count * chunk;
    std::fill_n(sum, count, 0.0f);
    const PaddedImages images(*this, p);
    for (std::int64_t i = begin; i < end; ++i)
      kernels_.conv_backward_weight(sum, grad_bias ? sum + taps * p.o : nullptr,
                                    grad_out + i * p.oh * p.ow * p.o, images(x + i * p.h * p.w * p.c),
                                    images.shape());
  });
  collect_gradients(p, grad_weight, grad_bias, sums.data(), chunks);
}

// Each chunk has (kh * kw * c + 1, o): the weight's gradient by tap, and the bias'.
void OneDnnBackend::collect_gradients(const ConvProblem& p, float* grad_weight, float* grad_bias, float* sums,
                                      int chunks) {
  const std::int64_t taps = taps_of(p), count = (taps + 1) * p.o;
  for (int chunk = 1; chunk < chunks; ++chunk) kernels_.accumulate(sums, sums + count * chunk, 1.0f, count);
  for (std::int64_t o = 0; o < p.o; ++o)
    for (std::int64_t t = 0; t < taps; ++t) grad_weight[o * taps + t] = sums[t * p.o + o];
  if (grad_bias) std::copy_n(sums + taps * p.o, p.o, grad_bias);
}

}  // namespace ronde::inline v0
