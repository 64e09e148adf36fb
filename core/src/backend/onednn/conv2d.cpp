// Note [Fast convolutions]
// Activations stay NHWC, and the batch is cut into one chunk per thread. 3x3 filters with stride 1 between at
// least a vector of channels run by Winograd's algorithm (winograd_conv2d.cpp), most other layers on direct
// kernels (direct_conv2d.cpp), image by image, together with relu and pooling (conv2d_layer.cpp), and those
// with a stride and many weights as products of matrices (patch_conv2d.cpp), as those with 1x1 filters of
// bf16 (pixel_conv2d.cpp), and those of each channel by itself have their own (depthwise_conv2d.cpp). For the
// rest (groups, dilation, few channels, many weights of other filters) each thread works through its chunk
// with oneDNN a few images at a time, so that what a call reads and writes stays in its cache; oneDNN picks
// the layout of the weights, which are packed once per call. Each thread sums its own weight gradient; the
// sums are added in the order of the chunks, so that timing does not matter.
#include <algorithm>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/picked_pixels.h"

namespace ronde::inline v0 {

namespace {

// Images per call: enough that going through the weights once more costs little, few enough for the cache.
std::int64_t images_per_call(const ConvProblem& p) {
  constexpr std::int64_t kLeast = 32768;  // elements
  const std::int64_t weights = p.o * p.kh * p.kw * p.c / p.params.groups;
  const std::int64_t image = in_elements(p) + out_elements(p);
  const std::int64_t wanted = std::max(4 * weights, kLeast);
  std::int64_t images = 1;
  while (images * image < wanted && images < p.n) images *= 2;
  return images;
}

}  // namespace

void OneDnnBackend::conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                           const Conv2dParams& params, Epilogue epilogue) {
  if (!fast_conv2d(out, x, {weight, bias, params, epilogue}, nullptr))
    WithBfloat16::conv2d(out, x, weight, bias, params, epilogue);
}

void OneDnnBackend::conv2d_norm(const Tensor& out, const Tensor& x, const Conv2dStage& conv,
                                const NormStage& stage) {
  const NormTensors tensors{stage.mean, stage.variance, stage.gamma, stage.beta};
  if (!dense_floats(out, x, conv.weight) || !takes_norm(tensors) ||
      !NormMap::takes(kernels_, stage.activation))
    return WithBfloat16::conv2d_norm(out, x, conv, stage);
  const NormMap norm(*this, kernels_, tensors, stage.params, stage.activation);
  if (!fast_conv2d(out, x, conv, &norm)) WithBfloat16::conv2d_norm(out, x, conv, stage);
}

bool OneDnnBackend::fast_conv2d(const Tensor& out, const Tensor& x, const Conv2dStage& conv,
                                const NormMap* norm) {
  if (pixel_conv2d(out, x, conv) || own_conv2d({.out = out, .x = x, .conv = conv}, norm)) return true;
  if (!dense_values(out, x, conv.weight) || out.count() == 0 || x.count() == 0) return false;
  ConvProblem p = stage_problem(x.shape(), conv);
  p.has_bias = conv.bias.defined();
  if (takes_depthwise(conv.weight.shape())) {
    depthwise_conv2d(p, out, x, conv, norm);
    return true;
  }
  if (!dense_floats(out, x, conv.weight)) return false;
  float *to = out.data<float>(), *from = x.data<float>();
  const float *weight = conv.weight.data<float>(), *bias = floats_or_null(conv.bias);
  if (takes_patches(p))
    patch_conv2d(p, to, from, weight, bias, norm);
  else if (packed_conv2d(p, to, from, weight, bias)) {
    if (norm) normalise(out, out, *norm);
  } else
    return false;
  return true;
}

void OneDnnBackend::conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                          const Conv2dParams& params) {
  if (pixel_backward_input(grad_x, grad_out, weight, params)) return;
  if (own_conv2d_backward({.conv = {.grad_x = grad_x,
                                    .grad_out = grad_out,
                                    .weight = weight,
                                    .conv_out = {grad_out.size(1), grad_out.size(2)},
                                    .params = params}}))
    return;
  const ConvProblem p =
      problem_of(ConvPass::backward_input, grad_x.shape(), weight.shape(), grad_out.shape(), params);
  const bool is_empty = grad_out.count() == 0 || grad_x.count() == 0;
  if (!is_empty && dense_values(grad_x, grad_out, weight) && takes_depthwise(weight.shape()))
    return depthwise_backward_input(p, grad_x, grad_out, weight);
  if (!is_empty && dense_floats(grad_x, grad_out, weight)) {
    if (takes_patches(p))
      return patch_backward_input(p, grad_x.data<float>(), grad_out.data<float>(), weight.data<float>());
    if (packed_conv2d(p, grad_out.data<float>(), grad_x.data<float>(), weight.data<float>(), nullptr)) return;
  }
  WithBfloat16::conv2d_backward_input(grad_x, grad_out, weight, params);
}

void OneDnnBackend::conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                           const Tensor& grad_out, const Tensor& x,
                                           const Conv2dParams& params) {
  if (pixel_backward_weight(grad_weight, grad_bias, grad_out, x, params)) return;
  const bool is_empty = grad_out.count() == 0 || x.count() == 0;
  const bool has_floats = dense_floats(grad_weight, grad_out, x) && !is_empty;
  ConvProblem p =
      problem_of(ConvPass::backward_weight, x.shape(), grad_weight.shape(), grad_out.shape(), params);
  p.has_bias = grad_bias.defined();
  if (has_floats && takes_patches(p)) {
    patch_backward_weight(p, grad_weight.data<float>(), grad_out.data<float>(), x.data<float>());
    return sum_pixels(grad_bias, grad_out);
  }
  if (own_conv2d_backward({.conv = {.grad_weight = grad_weight,
                                    .grad_bias = grad_bias,
                                    .grad_out = grad_out,
                                    .x = x,
                                    .conv_out = {grad_out.size(1), grad_out.size(2)},
                                    .params = params}}))
    return;
  if (!is_empty && dense_values(grad_weight, grad_out, x) && dense_or_missing(grad_bias) &&
      takes_depthwise(grad_weight.shape()))
    return depthwise_backward_weight(p, grad_weight, grad_bias, grad_out, x);
  if (has_floats) {
    float *to = grad_weight.data<float>(), *to_bias = floats_or_null(grad_bias), *from = x.data<float>();
    const Scratch<float> picked(*this, p.picks_pixels() ? p.n * p.oh * p.ow * p.c : 0);
    if (p.picks_pixels()) {
      pick_pixels(threads(), picked.data(), from, p);
      from = picked.data();
      p = of_picked_pixels(p);
    }
    if (packed_backward_weight(p, to, to_bias, grad_out.data<float>(), from)) return;
  }
  WithBfloat16::conv2d_backward_weight(grad_weight, grad_bias, grad_out, x, params);
}

void OneDnnBackend::sum_pixels(const Tensor& grad_bias, const Tensor& grad_out) {
  if (grad_bias.defined()) reduce(ReduceOp::sum, grad_bias.reshape({1, 1, 1, grad_bias.count()}), grad_out);
}

bool OneDnnBackend::packed_conv2d(const ConvProblem& whole, float* out, float* x, const float* weight,
                                  const float* bias) {
  ConvProblem piece = whole;
  piece.n = piece.packed_for_n = images_per_call(whole);
  const auto first = conv_cache_.take(piece);
  if (!first->is_fast()) return false;
  const Scratch<float> packed(*this, first->packed_count());
  first->pack(packed.data(), weight);
  const auto run = [&](const ConvProblem& here, float* to, float* from) {
    conv_cache_.take(here, &*first)->run(from, packed.data(), const_cast<float*>(bias), to);
    if (whole.relu) kernels_.unary(UnaryOp::relu, to, to, here.n * out_elements(here), 0.0f, 0.0f);
  };
  const std::int64_t bands = whole.pass == ConvPass::forward ? bands_of_image(whole) : 1;
  threads().parallel_for(whole.n * bands, 1, [&](std::int64_t begin, std::int64_t end) {
    if (bands == 1) {
      for (std::int64_t i = begin; i < end; i += piece.n) {
        ConvProblem here = piece;
        here.n = std::min(piece.n, end - i);
        run(here, out + i * out_elements(whole), x + i * in_elements(whole));
      }
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const ImageBand band(piece, {i % bands, bands});
      run(band.problem, out + i / bands * out_elements(whole) + band.out,
          x + i / bands * in_elements(whole) + band.in);
    }
  });
  return true;
}

bool OneDnnBackend::packed_backward_weight(const ConvProblem& whole, float* grad_weight, float* grad_bias,
                                           float* grad_out, float* x) {
  ConvProblem piece = whole;
  piece.n = piece.packed_for_n = images_per_call(whole);
  const auto first = conv_cache_.take(piece);
  if (!first->is_fast()) return false;
  // Per thread: the sum so far and what the next call adds, each weight then bias.
  const std::int64_t weights = first->packed_count(), both = (weights + whole.o + 15) / 16 * 16;
  const int chunks = threads().chunks(whole.n, 1);
  const Scratch<float> sums(*this, 2 * both * chunks);
  threads().parallel_chunks(whole.n, 1, [&](int chunk, std::int64_t begin, std::int64_t end) {
    float *sum = sums.data() + 2 * both * chunk, *next = sum + both;
    for (std::int64_t i = begin; i < end; i += piece.n) {
      ConvProblem here = piece;
      here.n = std::min(piece.n, end - i);
      float* to = i == begin ? sum : next;
      conv_cache_.take(here, &*first)
          ->run(x + i * in_elements(whole), to, to + weights, grad_out + i * out_elements(whole));
      if (to == next) kernels_.accumulate(sum, next, 1.0f, weights + (grad_bias ? whole.o : 0));
    }
  });
  for (int chunk = 1; chunk < chunks; ++chunk)
    kernels_.accumulate(sums.data(), sums.data() + 2 * both * chunk, 1.0f,
                        weights + (grad_bias ? whole.o : 0));
  first->unpack(grad_weight, sums.data());
  if (grad_bias) std::copy_n(sums.data() + weights, whole.o, grad_bias);
  return true;
}

}  // namespace ronde::inline v0
