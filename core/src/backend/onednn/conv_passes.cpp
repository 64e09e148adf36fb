#include "backend/onednn/conv_passes.h"

#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

namespace {

std::optional<PaddedImages> padded_for(Backend& backend, ConvKernels algorithm, const ConvProblem& p) {
  if (algorithm != ConvKernels::direct) return std::nullopt;
  return std::optional<PaddedImages>(std::in_place, backend, p);
}

std::int64_t weight_elements(const ConvProblem& p, ConvKernels algorithm, std::int64_t lanes) {
  return algorithm == ConvKernels::winograd ? winograd_filters(p, lanes) : p.kh * p.kw * p.c * p.o;
}

std::int64_t sum_elements(const ConvProblem& p, ConvKernels algorithm) {
  return algorithm == ConvKernels::winograd ? winograd_sums(winograd_shape(p).tile, p.c * p.o) : 0;
}

}  // namespace

ImagePass::ImagePass(Backend& backend, const Kernels& kernels, ConvKernels algorithm,
                     const ConvProblem& problem, const float* weight, const float* bias)
    : backend_(backend),
      kernels_(kernels),
      algorithm_(algorithm),
      problem_(problem),
      bias_(bias),
      weights_(backend, weight_elements(problem, algorithm, kernels.lanes)) {
  if (algorithm == ConvKernels::winograd)
    prepare_winograd(weight);
  else
    prepare_direct(weight);
}

ImagePass::Runner::Runner(const ImagePass& pass)
    : pass_(pass),
      scratch_(pass.backend_, pass.algorithm_ == ConvKernels::winograd
                                  ? WinogradBlock::count(winograd_shape(pass.problem_))
                                  : 0),
      padded_(padded_for(pass.backend_, pass.algorithm_, pass.problem_)) {}

void ImagePass::Runner::operator()(float* to, const float* from, std::int64_t images) const {
  if (pass_.algorithm_ == ConvKernels::winograd) return run_winograd(to, from, images);
  run_direct(to, from, images);
}

void ImagePass::Runner::operator()(float* to, const float* from, std::int64_t images,
                                   const NormMap& norm) const {
  if (pass_.algorithm_ == ConvKernels::winograd) return run_winograd(to, from, images, norm);
  run_direct(to, from, images, norm);
}

void ImagePass::Runner::run_direct(float* to, const float* from, std::int64_t images,
                                   const NormMap& norm) const {
  const ConvProblem& p = pass_.problem_;
  for (std::int64_t i = 0; i < images; ++i) {
    const float* padded = (*padded_)(from + i * in_elements(p));
    float* image = to + i * out_elements(p);
    in_bands(0, p.oh, rows_in_cache(p), [&](std::int64_t begin, std::int64_t end) {
      run_direct(image, padded, begin, end);
      map_rows(norm, image, p, begin, end);
    });
  }
}

// Whole blocks of tiles at a time, and then the rows that these complete.
void ImagePass::Runner::run_winograd(float* to, const float* from, std::int64_t images,
                                     const NormMap& norm) const {
  const ConvProblem& p = pass_.problem_;
  const WinogradShape s = winograd_shape(p);
  const std::int64_t tiles = images * s.tiles(), tile_rows = rows_in_cache(p) / s.tile;
  std::int64_t done = 0;
  in_bands(0, tiles, s.block * std::max<std::int64_t>(tile_rows * s.tiles_w / s.block, 1),
           [&](std::int64_t begin, std::int64_t end) {
             run_winograd(to, from, TileRange{begin, end});
             const std::int64_t row = end / s.tiles_w;
             const std::int64_t complete = row / s.tiles_h * p.oh + row % s.tiles_h * s.tile;
             map_rows(norm, to, p, done, complete);
             done = complete;
           });
}

void ImagePass::Runner::operator()(PooledOutput to, const float* from, std::int64_t images) const {
  pass_.kernels_.winograd_conv_pool(to, from, pass_.weights_.data(), pass_.bias_,
                                    winograd_shape(pass_.problem_), images, scratch_.data(), epilogue());
}

void ImagePass::Runner::operator()(float* to, const float* from, ImagePart part) const {
  if (pass_.algorithm_ == ConvKernels::winograd) {
    const std::int64_t tiles = winograd_shape(pass_.problem_).tiles();
    run_winograd(to, from, TileRange{part.begin(tiles), part.end(tiles)});
  } else {
    run_direct(to, (*padded_)(from), part.begin(pass_.problem_.oh), part.end(pass_.problem_.oh));
  }
}

void ImagePass::Runner::run_winograd(float* to, const float* from, std::int64_t images) const {
  const WinogradShape shape = winograd_shape(pass_.problem_);
  if (pass_.problem_.pass == ConvPass::forward)
    run_winograd(to, from, TileRange{0, images * shape.tiles()});
  else
    pass_.kernels_.winograd_backward_input(to, from, pass_.weights_.data(), shape, images, scratch_.data());
}

void ImagePass::Runner::run_winograd(float* to, const float* from, TileRange tiles) const {
  pass_.kernels_.winograd_conv(to, from, pass_.weights_.data(), pass_.bias_, winograd_shape(pass_.problem_),
                               tiles, scratch_.data(), epilogue());
}

void ImagePass::Runner::run_direct(float* to, const float* from, std::int64_t images) const {
  const ConvProblem& p = pass_.problem_;
  for (std::int64_t i = 0; i < images; ++i)
    run_direct(to + i * out_elements(p), (*padded_)(from + i * in_elements(p)), 0, p.oh);
}

void ImagePass::Runner::run_direct(float* to, const float* padded, std::int64_t begin,
                                   std::int64_t end) const {
  ConvShape s = padded_->shape();
  s.oh = end - begin;
  pass_.kernels_.direct_conv(to + begin * s.ow * s.o, padded + begin * s.stride_h * s.w * s.c,
                             pass_.weights_.data(), pass_.bias_, s, epilogue());
}

WeightGradientPass::WeightGradientPass(Backend& backend, const Kernels& kernels, ConvKernels algorithm,
                                       const ConvProblem& problem, int chunks)
    : backend_(backend),
      kernels_(kernels),
      algorithm_(algorithm),
      problem_(problem),
      chunks_(chunks),
      sums_(backend, chunk_elements() * chunks) {}

WeightGradientPass::Runner::Runner(const WeightGradientPass& pass, int chunk)
    : pass_(pass),
      sum_(pass.sums_.data() + pass.chunk_elements() * chunk),
      bias_sum_(pass.problem_.has_bias ? sum_ + pass.taps() * pass.problem_.o : nullptr),
      points_(pass.backend_, sum_elements(pass.problem_, pass.algorithm_)),
      scratch_(pass.backend_, pass.algorithm_ == ConvKernels::winograd
                                  ? winograd_gradient_scratch(winograd_shape(pass.problem_))
                                  : 0),
      padded_(padded_for(pass.backend_, pass.algorithm_, pass.problem_)) {
  if (padded_) {
    std::fill_n(sum_, pass.chunk_elements(), 0.0f);
    return;
  }
  std::fill_n(points_.data(), sum_elements(pass.problem_, pass.algorithm_), 0.0f);
  if (bias_sum_) std::fill_n(bias_sum_, pass.problem_.o, 0.0f);  // `finish` writes the rest
}

void WeightGradientPass::Runner::add(const float* grad_out, const float* x, std::int64_t images) const {
  const ConvProblem& p = pass_.problem_;
  if (pass_.algorithm_ == ConvKernels::winograd) return add_winograd(grad_out, x, images, nullptr, nullptr);
  for (std::int64_t i = 0; i < images; ++i)
    pass_.kernels_.conv_backward_weight(sum_, bias_sum_, grad_out + i * out_elements(p),
                                        (*padded_)(x + i * in_elements(p)), padded_->shape());
}

void WeightGradientPass::Runner::add(const float* grad_out, const float* x, std::int64_t images,
                                     const ImagePass::Runner& input, float* grad_x) const {
  if (pass_.algorithm_ == ConvKernels::winograd && input.winograd_filters())
    return add_winograd(grad_out, x, images, grad_x, input.winograd_filters());
  add(grad_out, x, images);
  input(grad_x, grad_out, images);
}

void WeightGradientPass::Runner::add_winograd(const float* grad_out, const float* x, std::int64_t images,
                                              float* grad_x, const float* filters) const {
  pass_.kernels_.winograd_backward(points_.data(), bias_sum_, grad_x, grad_out, x, filters,
                                   winograd_shape(pass_.problem_), images, scratch_.data());
}

void WeightGradientPass::Runner::finish() const {
  const ConvProblem& p = pass_.problem_;
  if (pass_.algorithm_ == ConvKernels::winograd)
    pass_.kernels_.winograd_weight_gradient(sum_, points_.data(), p.c * p.o, winograd_shape(p).tile);
}

void WeightGradientPass::collect(float* grad_weight, float* grad_bias) const {
  float* sum = sums_.data();
  const std::int64_t o = problem_.o;
  for (int chunk = 1; chunk < chunks_; ++chunk)
    kernels_.accumulate(sum, sum + chunk_elements() * chunk, 1.0f, chunk_elements());
  constexpr std::int64_t kLine = 16;  // floats: those of one line are read together
  backend_.threads().parallel_for(ceil_divide(o, kLine), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * kLine; first < std::min(end * kLine, o); first += kLine)
      for (std::int64_t t = 0; t < taps(); ++t)
        for (std::int64_t f = first; f < std::min(first + kLine, o); ++f)
          grad_weight[f * taps() + t] = sum[t * o + f];
  });
  if (grad_bias) std::copy_n(sum + taps() * o, o, grad_bias);
}

}  // namespace ronde::inline v0
