// Convolutions of each channel by filters of its own. With several filters a channel, each channel of x is
// copied as often.
//
// Note [Bands]
// An image is made in bands of lines: by several threads, and where what is behind the convolution, or
// widening of bf16, finds it in the cache.
#include <algorithm>
#include <numeric>

#include <ronde/core/whole_numbers.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/norm_map.h"

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

// Elements of some lines of x in which each channel stands for each of its filters; none where it has one.
std::int64_t repeated_elements(const ConvProblem& p, std::int64_t lines) {
  return filters_of_a_channel(p) == 1 ? 0 : lines * p.w * p.o;
}

void repeat_channels(float* to, const float* x, const ConvProblem& p, std::int64_t lines) {
  const std::int64_t filters = filters_of_a_channel(p);
  for (std::int64_t i = 0; i < lines * p.w * p.c; ++i) to = std::fill_n(to, filters, x[i]);
}

void add_filters(float* grad_x, const float* repeated, const ConvProblem& p, std::int64_t lines) {
  const std::int64_t filters = filters_of_a_channel(p);
  for (std::int64_t i = 0; i < lines * p.w * p.c; ++i, repeated += filters) {
    grad_x[i] = repeated[0];
    for (std::int64_t k = 1; k < filters; ++k) grad_x[i] += repeated[k];
  }
}

struct LineRange {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

// `lines` lines of each of some images, cut into bands.
struct LineBands {
  std::int64_t lines, parts;

  // At least `least` of an image, and of no more lines than `most`.
  LineBands(std::int64_t all_lines, std::int64_t least, std::int64_t most)
      : lines(all_lines), parts(std::max(least, ceil_divide(all_lines, most))) {}
  std::int64_t longest() const { return ceil_divide(lines, parts); }
  LineRange operator[](std::int64_t band) const {
    const ImagePart part{band % parts, parts};
    return {part.begin(lines), part.end(lines)};
  }
  std::int64_t image(std::int64_t band) const { return band / parts; }
};

// The lines of x that the windows of some lines of the result reach.
LineRange reached(const DepthwiseShape& s, LineRange out) {
  const std::int64_t first = out.begin * s.stride_h - s.top;
  const std::int64_t last = (out.end - 1) * s.stride_h - s.top + (s.kh - 1) * s.dilation_h;
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, s.h);
  return {begin, out.count() > 0 && s.kh > 0 ? std::clamp<std::int64_t>(last + 1, begin, s.h) : begin};
}

std::int64_t most_reached(const DepthwiseShape& s, std::int64_t out_lines) {
  return std::min(s.h, (out_lines - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1);
}

// What makes some lines of the result of these lines of x alone.
DepthwiseShape of_lines(const DepthwiseShape& whole, LineRange x, LineRange out) {
  DepthwiseShape s = whole;
  s.h = x.count();
  s.top = whole.top + x.begin - out.begin * whole.stride_h;
  s.oh = out.count();
  return s;
}

// What bands are made of: lines of x as floats, with each channel for each of its filters.
class BandSource {
 public:
  struct Band {
    const float* x;
    DepthwiseShape shape;
  };

  BandSource(Backend& backend, const Kernels& kernels, const Tensor& x, const ConvProblem& p,
             std::int64_t longest)
      : problem_(p),
        shape_(shape_of(p)),
        rows_(backend, kernels, x, p.n * p.h, most_reached(shape_, longest)),
        repeated_(backend, repeated_elements(p, most_reached(shape_, longest))),
        is_copied_(rows_.are_widened() || filters_of_a_channel(p) > 1) {}

  // Until the next call.
  Band operator()(std::int64_t image, LineRange out) const {
    LineRange lines = reached(shape_, out);
    if (!is_copied_) lines.end = shape_.h;  // kernels fetch what comes next
    const float* x = rows_(image * shape_.h + lines.begin, lines.count());
    if (filters_of_a_channel(problem_) > 1) {
      repeat_channels(repeated_.data(), x, problem_, lines.count());
      x = repeated_.data();
    }
    return {x, of_lines(shape_, lines, out)};
  }

 private:
  const ConvProblem& problem_;
  DepthwiseShape shape_;
  ReadRows rows_;
  Scratch<float> repeated_;
  bool is_copied_;
};

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
    size = ceil_divide(extent - phase, stride);
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
  /// Those of some lines of the longest phase that this one has.
  LineRange lines(LineRange all) const {
    return {std::min(all.begin, shape_.oh), std::min(all.end, shape_.oh)};
  }
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

// All phases. Line i of each of them is the stride's i-th group of lines of x.
class InputPhases {
 public:
  InputPhases(Backend& backend, const Kernels& kernels, const ConvProblem& p, const Tensor& weight)
      : kernels_(kernels), out_lines_(p.oh), filters_(backend, p.kh * p.kw * p.o) {
    const ReadRows all(backend, kernels, weight, 1, 1);
    float* room = filters_.data();  // each tap is one phase's
    for (std::int64_t y = 0; y < std::min(p.params.stride.h, p.h); ++y)
      for (std::int64_t x = 0; x < std::min(p.params.stride.w, p.w); ++x)
        room = phases_.emplace_back(p, y, x).take_filters(room, all(0, 1), p);
  }

  // What of the result's gradient some of their lines are made of.
  LineRange reached(LineRange lines) const {
    LineRange all{out_lines_, 0};
    for (const PhaseOfInput& phase : phases_) {
      const LineRange some = v0::reached(phase.shape(), phase.lines(lines));
      if (some.count() > 0) all = {std::min(all.begin, some.begin), std::max(all.end, some.end)};
    }
    return all.begin < all.end ? all : LineRange{0, 0};
  }

  // These lines of all phases, of lines `from` of the result's gradient.
  void make(float* grad_x, LineRange lines, const float* grad, LineRange from) const {
    for (const PhaseOfInput& phase : phases_) {
      const LineRange own = phase.lines(lines);
      kernels_.depthwise_conv(grad_x + phase.first(), grad, phase.filters(), nullptr,
                              of_lines(phase.shape(), from, own), Epilogue::none);
    }
  }

 private:
  const Kernels& kernels_;
  std::int64_t out_lines_;
  Scratch<float> filters_;
  std::vector<PhaseOfInput> phases_;
};

// Lines of a result that are made at a time: all of `lines`, or fewer where one of the tensors is widened.
std::int64_t lines_at_a_time(const ConvProblem& p, std::int64_t lines, const Tensor& a, const Tensor& b) {
  return is_bfloat16(a) || is_bfloat16(b) ? 2 * rows_in_cache(p) : lines;
}

}  // namespace

bool OneDnnBackend::takes_depthwise(const Shape& weight) const {
  return weight[3] == 1 && weight[0] >= kernels_.lanes;
}

void OneDnnBackend::depthwise_conv2d(const ConvProblem& p, const Tensor& out, const Tensor& x,
                                     const Conv2dStage& conv, const NormMap* norm) {
  const std::int64_t taps = p.kh * p.kw;
  const Scratch<float> filters(*this, taps * p.o);
  const ReadRows weight(*this, kernels_, conv.weight, 1, 1), all_bias(*this, kernels_, conv.bias, 1, 1);
  transpose(filters.data(), weight(0, 1), p.o, taps);
  const float* bias = all_bias(0, 1);
  const LineBands bands(p.oh, bands_of_image(threads(), p),
                        lines_at_a_time(p, norm ? rows_in_cache(p) : p.oh, out, x));
  threads().parallel_for(p.n * bands.parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const BandSource source(*this, kernels_, x, p, bands.longest());
    const WrittenRows to(*this, kernels_, out, p.n * p.oh, bands.longest());
    for (std::int64_t i = begin; i < end; ++i) {
      const LineRange lines = bands[i];
      const BandSource::Band from = source(bands.image(i), lines);
      const std::int64_t first = bands.image(i) * p.oh + lines.begin;
      float* y = to.room(first);
      kernels_.depthwise_conv(y, from.x, filters.data(), bias, from.shape, conv.epilogue);
      if (norm) (*norm)(y, y, lines.count() * p.ow);
      to.keep(first, lines.count());
    }
  });
}

// Bands are of lines of the phases.
void OneDnnBackend::depthwise_backward_input(const ConvProblem& p, const Tensor& grad_x,
                                             const Tensor& grad_out, const Tensor& weight) {
  const std::int64_t stride = p.params.stride.h;
  const InputPhases phases(*this, kernels_, p, weight);
  const LineBands bands(ceil_divide(p.h, stride), bands_of_image(threads(), p),
                        lines_at_a_time(p, p.h, grad_x, grad_out));
  threads().parallel_for(p.n * bands.parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t longest = bands.longest() * stride;
    const Scratch<float> repeated(*this, repeated_elements(p, longest));
    const WrittenRows to(*this, kernels_, grad_x, p.n * p.h, longest);
    const ReadRows from(*this, kernels_, grad_out, p.n * p.oh, p.oh);
    for (std::int64_t i = begin; i < end; ++i) {
      const LineRange lines = bands[i], x_lines{lines.begin * stride, std::min(lines.end * stride, p.h)};
      LineRange source = phases.reached(lines);
      if (!from.are_widened()) source.end = p.oh;  // kernels fetch what comes next
      const float* grad = from(bands.image(i) * p.oh + source.begin, source.count());
      const std::int64_t first = bands.image(i) * p.h + x_lines.begin;
      float* x = to.room(first);
      float* made = filters_of_a_channel(p) > 1 ? repeated.data() : x;
      phases.make(made, lines, grad, source);
      if (made != x) add_filters(x, made, p, x_lines.count());
      to.keep(first, x_lines.count());
    }
  });
}

void OneDnnBackend::depthwise_backward_weight(const ConvProblem& p, const Tensor& grad_weight,
                                              const Tensor& grad_bias, const Tensor& grad_out,
                                              const Tensor& x) {
  const std::int64_t taps = p.kh * p.kw, weights = taps * p.o;
  const LineBands bands(p.oh, bands_of_image(threads(), p), lines_at_a_time(p, p.oh, grad_out, x));
  const int chunks = threads().chunks(p.n * bands.parts, 1);
  const Zeros<float> sums(*this, weights * chunks);
  threads().parallel_chunks(p.n * bands.parts, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    const BandSource source(*this, kernels_, x, p, bands.longest());
    const ReadRows g(*this, kernels_, grad_out, p.n * p.oh, bands.longest());
    for (std::int64_t i = begin; i < end; ++i) {
      const LineRange lines = bands[i];
      const BandSource::Band from = source(bands.image(i), lines);
      kernels_.depthwise_backward_weight(sums.data() + chunk * weights,
                                         g(bands.image(i) * p.oh + lines.begin, lines.count()), from.x,
                                         from.shape);
    }
  });
  for (int chunk = 1; chunk < chunks; ++chunk)
    kernels_.accumulate(sums.data(), sums.data() + chunk * weights, 1.0f, weights);
  const WrittenRows to(*this, kernels_, grad_weight, 1, 1);
  transpose(to.room(0), sums.data(), taps, p.o);
  to.keep(0, 1);
  sum_pixels(grad_bias, grad_out);
}

}  // namespace ronde::inline v0
