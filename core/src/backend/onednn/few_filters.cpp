// Note [Few filters]
// Fewer filters than a vector has lanes, as at the end of nets that make pictures or a mask, over channels
// that fill vectors: what lies under a filter is multiplied in vectors, and their lanes are added up at the
// end. Filling the filters up to a vector would multiply up to 16 times as much. The weights' gradient is
// that of the convolution whose result is x and whose input is the result's gradient, in a frame, with
// filters turned round. (The input's gradient has many results a pixel: direct kernels make it.)
#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"

namespace ronde::inline v0 {

namespace {

// Of the same filters from the result's gradient to x.
ConvProblem turned_round(const ConvProblem& p) {
  ConvProblem turned = p;
  std::swap(turned.h, turned.oh);
  std::swap(turned.w, turned.ow);
  std::swap(turned.c, turned.o);
  const Padding2d& pad = p.params.padding;
  turned.params.padding = {p.kh - 1 - pad.top, p.kh - 1 - pad.bottom, p.kw - 1 - pad.left,
                           p.kw - 1 - pad.right};
  turned.has_bias = false;
  return turned;
}

// to (a, cell, b) from (b, cell, a) from the last cell of a filter to the first.
void turn_filters(float* to, const float* from, std::int64_t a, std::int64_t cells, std::int64_t b) {
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t cell = cells; cell-- > 0;)
      for (std::int64_t j = 0; j < b; ++j) *to++ = from[(j * cells + cell) * a + i];
}

// Whether vectors of what lies under a filter, and adding up their lanes, are less work for each result than
// filters in vectors that are not full: their multiplications, and measured factors.
bool pays_in_rows(const ConvProblem& p, std::int64_t channels, std::int64_t filters, std::int64_t lanes) {
  const std::int64_t row = p.kw * channels, vectors = p.kh * ceil_divide(row, lanes);
  return filters < lanes && row >= lanes && 3 * filters * (vectors + 3) <= 2 * p.kh * row;
}

}  // namespace

bool OneDnnBackend::takes_few_filters(const ConvProblem& p) const {
  if (p.params.groups != 1 || !(p.params.dilation == Size2d{})) return false;
  if (p.kh * p.kw * p.c * p.o > kMostDirectWeights) return false;
  const std::int64_t lanes = kernels_.lanes;
  if (p.pass == ConvPass::forward) return pays_in_rows(p, p.c, p.o, lanes);
  const Padding2d& pad = p.params.padding;
  if (!(p.params.stride == Size2d{}) || std::max(pad.top, pad.bottom) >= p.kh ||
      std::max(pad.left, pad.right) >= p.kw)
    return false;
  if (p.pass == ConvPass::backward_input) return pays_in_rows(p, p.o, p.c, lanes);
  return p.o < lanes && p.c >= lanes;
}

void OneDnnBackend::few_filters_conv2d(const ConvProblem& p, float* out, const float* x, const float* weight,
                                       const float* bias) {
  const std::int64_t parts = parts_of_image(threads(), p);
  threads().parallel_for(p.n * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const PaddedImages padded(*this, p);
    ConvShape s = padded.shape();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / parts, row = ImagePart{i % parts, parts}.begin(p.oh);
      s.oh = ImagePart{i % parts, parts}.end(p.oh) - row;
      kernels_.few_filters_conv(out + image * out_elements(p) + row * p.ow * p.o,
                                padded(x + image * in_elements(p)) + row * s.stride_h * s.w * s.c, weight,
                                bias, s, p.relu ? Epilogue::relu : Epilogue::none);
    }
  });
}

void OneDnnBackend::few_filters_backward_input(const ConvProblem& p, float* grad_x, const float* grad_out,
                                               const float* weight) {
  const Scratch<float> turned(*this, p.o * p.kh * p.kw * p.c);
  turn_filters(turned.data(), weight, p.c, p.kh * p.kw, p.o);
  few_filters_conv2d(turned_round(p), grad_x, grad_out, turned.data(), nullptr);
}

void OneDnnBackend::few_filters_backward_weight(const ConvProblem& p, float* grad_weight,
                                                const float* grad_out, const float* x) {
  const ConvProblem turned = turned_round(p);
  const WeightGradientPass pass(*this, kernels_, ConvKernels::direct, turned, threads().chunks(p.n, 1));
  threads().parallel_chunks(p.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    WeightGradientPass::Runner(pass, chunk)
        .add(x + begin * in_elements(p), grad_out + begin * out_elements(p), end - begin);
  });
  const Scratch<float> gradient(*this, p.o * p.kh * p.kw * p.c);
  pass.collect(gradient.data(), nullptr);
  turn_filters(grad_weight, gradient.data(), p.o, p.kh * p.kw, p.c);
}

}  // namespace ronde::inline v0
