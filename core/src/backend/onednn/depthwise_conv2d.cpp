// Convolutions of each channel by filters of its own. With several filters a channel, each channel of x is
// copied as often.
#include <algorithm>
#include <numeric>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/norm_map.h"
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
          .left = params.padding.left,
          .out_pixel = p.o,
          .out_line = p.ow * p.o};
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

// Note [Phases]
// Of the gradient of x, every stride-th pixel gets its terms by the same taps: t with (phase + padding - t *
// dilation) a multiple of the stride. In reverse these are the filter of a convolution of the result's
// gradient without stride. So there is one for each phase, along both axes.
struct Phase {
  std::int64_t first = 0, step, taps = 0;  // of the filter; `first` is the lowest
  std::int64_t size, dilation, padding;    // of the convolution

  Phase(std::int64_t extent, std::int64_t filter, std::int64_t stride, std::int64_t tap_dilation,
        std::int64_t tap_padding, std::int64_t phase) {
    const std::int64_t shared = std::gcd(stride, tap_dilation);
    step = stride / shared;
    dilation = tap_dilation / shared;
    size = (extent - phase + stride - 1) / stride;
    const auto place = [&](std::int64_t tap) { return phase + tap_padding - tap * tap_dilation; };
    while (first < step && place(first) % stride != 0) ++first;
    if (first < std::min(step, filter)) taps = (filter - 1 - first) / step + 1;
    padding = taps == 0 ? 0 : (taps - 1) * dilation - place(first) / stride;
  }
  std::int64_t tap(std::int64_t i) const { return first + (taps - 1 - i) * step; }
};

// The convolution of a phase and its filters.
class PhaseOfInput {
 public:
  PhaseOfInput(const ConvProblem& p, std::int64_t y, std::int64_t x)
      : rows_(p.h, p.kh, p.params.stride.h, p.params.dilation.h, p.params.padding.top, y),
        columns_(p.w, p.kw, p.params.stride.w, p.params.dilation.w, p.params.padding.left, x),
        first_((y * p.w + x) * p.o) {
    shape_ = {.h = p.oh,
              .w = p.ow,
              .oh = rows_.size,
              .ow = columns_.size,
              .c = p.o,
              .kh = rows_.taps,
              .kw = columns_.taps,
              .stride_h = 1,
              .stride_w = 1,
              .dilation_h = rows_.dilation,
              .dilation_w = columns_.dilation,
              .top = rows_.padding,
              .left = columns_.padding,
              .out_pixel = p.params.stride.w * p.o,
              .out_line = p.params.stride.h * p.w * p.o};
  }

  const DepthwiseShape& shape() const { return shape_; }
  /// Where its first element lies in the gradient.
  std::int64_t first() const { return first_; }
  /// Its taps of `weight`, (o, kh, kw), to `filters()`, (taps, o); returns what is behind them.
  float* take_filters(float* to, const float* weight, const ConvProblem& p) {
    filters_ = to;
    for (std::int64_t i = 0; i < rows_.taps; ++i)
      for (std::int64_t k = 0; k < columns_.taps; ++k)
        for (std::int64_t o = 0; o < p.o; ++o)
          *to++ = weight[(o * p.kh + rows_.tap(i)) * p.kw + columns_.tap(k)];
    return to;
  }
  const float* filters() const { return filters_; }

 private:
  Phase rows_, columns_;
  std::int64_t first_;
  DepthwiseShape shape_;
  const float* filters_ = nullptr;
};

}  // namespace

bool OneDnnBackend::takes_depthwise(const ConvProblem& p) const {
  return p.params.groups == p.c && p.o >= kernels_.lanes;
}

std::int64_t OneDnnBackend::depthwise_parts(const ConvProblem& p) const {
  return repeated_elements(p) > 0 ? 1 : bands_of_image(p);
}

void OneDnnBackend::depthwise_conv2d(const ConvProblem& p, float* out, const float* x, const float* weight,
                                     const float* bias, const NormMap* norm) {
  const DepthwiseShape shape = shape_of(p);
  const Epilogue epilogue = p.relu ? Epilogue::relu : Epilogue::none;
  const std::int64_t taps = p.kh * p.kw, repeated = repeated_elements(p), parts = depthwise_parts(p);
  const Scratch<float> filters(*this, taps * p.o);
  transpose(filters.data(), weight, p.o, taps);
  threads().parallel_for(p.n * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> copies(*this, repeated);
    for (std::int64_t i = begin; i < end; ++i) {
      const ImagePart part{i % parts, parts};
      const float* from = x + i / parts * in_elements(p);
      if (repeated > 0) repeat_channels(copies.data(), from, p);
      float* to = out + i / parts * out_elements(p);
      in_bands(part.begin(p.oh), part.end(p.oh), norm ? rows_in_cache(p) : p.oh,
               [&](std::int64_t row, std::int64_t row_end) {
                 kernels_.depthwise_conv(to, repeated > 0 ? copies.data() : from, filters.data(), bias, shape,
                                         row, row_end, epilogue);
                 if (norm) map_rows(*norm, to, p, row, row_end);
               });
    }
  });
}

void OneDnnBackend::depthwise_backward_input(const ConvProblem& p, float* grad_x, const float* grad_out,
                                             const float* weight) {
  const std::int64_t taps = p.kh * p.kw, repeated = repeated_elements(p), parts = depthwise_parts(p);
  const Scratch<float> filters(*this, taps * p.o);  // each tap is one phase's
  std::vector<PhaseOfInput> phases;
  float* room = filters.data();
  for (std::int64_t y = 0; y < std::min(p.params.stride.h, p.h); ++y)
    for (std::int64_t x = 0; x < std::min(p.params.stride.w, p.w); ++x)
      room = phases.emplace_back(p, y, x).take_filters(room, weight, p);
  threads().parallel_for(p.n * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<float> copies(*this, repeated);
    for (std::int64_t i = begin; i < end; ++i) {
      const ImagePart part{i % parts, parts};
      float* to = grad_x + i / parts * in_elements(p);
      for (const PhaseOfInput& phase : phases) {
        const DepthwiseShape& shape = phase.shape();
        kernels_.depthwise_conv((repeated > 0 ? copies.data() : to) + phase.first(),
                                grad_out + i / parts * out_elements(p), phase.filters(), nullptr, shape,
                                part.begin(shape.oh), part.end(shape.oh), Epilogue::none);
      }
      if (repeated > 0) add_filters(to, copies.data(), p);
    }
  });
}

void OneDnnBackend::depthwise_backward_weight(const ConvProblem& p, float* grad_weight, float* grad_bias,
                                              const float* grad_out, const float* x) {
  const DepthwiseShape shape = shape_of(p);
  const std::int64_t taps = p.kh * p.kw, weights = taps * p.o, repeated = repeated_elements(p),
                     parts = depthwise_parts(p);
  const int chunks = threads().chunks(p.n * parts, 1);
  const Scratch<float> sums(*this, weights * chunks);
  std::fill_n(sums.data(), weights * chunks, 0.0f);
  threads().parallel_chunks(p.n * parts, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    const Scratch<float> copies(*this, repeated);
    for (std::int64_t i = begin; i < end; ++i) {
      const ImagePart part{i % parts, parts};
      const float* from = x + i / parts * in_elements(p);
      if (repeated > 0) repeat_channels(copies.data(), from, p);
      kernels_.depthwise_backward_weight(
          sums.data() + chunk * weights, grad_out + i / parts * out_elements(p),
          repeated > 0 ? copies.data() : from, shape, part.begin(p.oh), part.end(p.oh));
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
