// Convolutions of each channel by filters of its own, where oneDNN is slow: the weight gradient of filters
// larger than 3x3 (version 2.6, with AVX-512: 1 to 5 GF/s where its forward pass makes 30 to 89), both
// gradients with dilation, and several filters a channel. For these, each channel of x is copied as often as
// it has filters.
#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

DepthwiseShape shape_of(const ConvProblem& p) {
  const Conv2dParams& params = p.params;
  return {.h = p.h,
          .w = p.w,
          .oh = p.oh,
          .ow = p.ow,
          .c = p.o,
          .kh = p.kh,
          .kw = p.kw,
          .stride_h = params.stride.h,
          .stride_w = params.stride.w,
          .dilation_h = params.dilation.h,
          .dilation_w = params.dilation.w,
          .top = params.padding.top,
          .left = params.padding.left};
}

std::int64_t filters_of_a_channel(const ConvProblem& p) {
  return p.o / p.c;
}

// Elements of an image in which each channel stands for each of its filters; none where it has one.
std::int64_t repeated_elements(const ConvProblem& p) {
  return filters_of_a_channel(p) == 1 ? 0 : p.h * p.w * p.o;
}

void repeat_channels(float* to, const float* x, const ConvProblem& p) {
  const std::int64_t filters = filters_of_a_channel(p);
  for (std::int64_t i = 0; i < in_elements(p); ++i) to = std::fill_n(to, filters, x[i]);
}

void add_filters(float* grad_x, const float* repeated, const ConvProblem& p) {
  const std::int64_t filters = filters_of_a_channel(p);
  for (std::int64_t i = 0; i < in_elements(p); ++i, repeated += filters) {
    grad_x[i] = repeated[0];
    for (std::int64_t k = 1; k < filters; ++k) grad_x[i] += repeated[k];
  }
}

// (o, taps) to (taps, o), or back
void transpose(float* to, const float* from, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) to[k * rows + i] = from[i * columns + k];
}

}  // namespace

bool OneDnnBackend::takes_depthwise(const ConvProblem& p) const {
  if (p.params.groups != p.c || p.o < kernels_.lanes) return false;
  if (filters_of_a_channel(p) > 1) return true;
  const bool is_large = p.kh > 3 || p.kw > 3;
  return (p.pass != ConvPass::forward && !(p.params.dilation == Size2d{})) ||
         (p.pass == ConvPass::backward_weight && is_large);
}

void OneDnnBackend::depthwise_conv2d(const ConvProblem& p, float* out, const float* x, const float* weight,
                                     const float* bias) {
  const std::int64_t taps = p.kh * p.kw, repeated = repeated_elements(p), bands = bands_of_image(p);
  const Scratch<float> filters(*this, taps * p.o);
  transpose(filters.data(), weight, p.o, taps);
  threads().parallel_for(p.n * bands, 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> copies(*this, repeated);
    for (std::int64_t i = begin; i < end; ++i) {
      const ImageBand band(p, {i % bands, bands});
      const float* from = x + i / bands * in_elements(p) + band.in;
      if (repeated > 0) repeat_channels(copies.data(), from, band.problem);
      float* to = out + i / bands * out_elements(p) + band.out;
      kernels_.depthwise_conv(to, repeated > 0 ? copies.data() : from, filters.data(),
                              shape_of(band.problem));
      kernels_.bias_epilogue(to, bias, band.problem.oh * p.ow, p.o, p.o,
                             p.relu ? Epilogue::relu : Epilogue::none);
    }
  });
}

void OneDnnBackend::depthwise_backward_input(const ConvProblem& p, float* grad_x, const float* grad_out,
                                             const float* weight) {
  const DepthwiseShape shape = shape_of(p);
  const std::int64_t taps = p.kh * p.kw, repeated = repeated_elements(p);
  const Scratch<float> filters(*this, taps * p.o);
  transpose(filters.data(), weight, p.o, taps);
  threads().parallel_for(p.n, 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> copies(*this, repeated);
    for (std::int64_t i = begin; i < end; ++i) {
      float* to = grad_x + i * in_elements(p);
      kernels_.depthwise_backward_input(repeated > 0 ? copies.data() : to, grad_out + i * out_elements(p),
                                        filters.data(), shape);
      if (repeated > 0) add_filters(to, copies.data(), p);
    }
  });
}

void OneDnnBackend::depthwise_backward_weight(const ConvProblem& p, float* grad_weight, float* grad_bias,
                                              const float* grad_out, const float* x) {
  const DepthwiseShape shape = shape_of(p);
  const std::int64_t taps = p.kh * p.kw, weights = taps * p.o, repeated = repeated_elements(p);
  const int chunks = threads().chunks(p.n, 1);
  const Scratch<float> sums(*this, weights * chunks);
  std::fill_n(sums.data(), weights * chunks, 0.0f);
  threads().parallel_chunks(p.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    const Scratch<float> copies(*this, repeated);
    for (std::int64_t i = begin; i < end; ++i) {
      const float* from = x + i * in_elements(p);
      if (repeated > 0) repeat_channels(copies.data(), from, p);
      kernels_.depthwise_backward_weight(sums.data() + chunk * weights, grad_out + i * out_elements(p),
                                         repeated > 0 ? copies.data() : from, shape);
    }
  });
  for (int chunk = 1; chunk < chunks; ++chunk)
    kernels_.accumulate(sums.data(), sums.data() + chunk * weights, 1.0f, weights);
  transpose(grad_weight, sums.data(), taps, p.o);
  if (!grad_bias) return;
  const Scratch<double> totals(*this, p.o);
  const std::int64_t rows = p.n * p.oh * p.ow;
  sum_over_rows(*this, totals.data(), rows, p.o, [&](double* total, std::int64_t row, std::int64_t count) {
    kernels_.sum_columns(total, grad_out + row * p.o, count, p.o);
  });
  for (std::int64_t o = 0; o < p.o; ++o) grad_bias[o] = static_cast<float>(totals.data()[o]);
}

}  // namespace ronde::inline v0
