// Note [Fast convolutions]
// Activations stay NHWC, and the batch is cut into one chunk per thread. A convolution goes the first of
// these ways that takes it, and so does each of its gradients:
//
//   bf16, 1x1 filters                                  products of matrices   pixel_conv2d.cpp
//   bf16, a stride, or few pixels beside many filters  the same, of patches   half_patch_conv2d.cpp
//   bf16, stride 1, where there is AMX                 tiles                  tile_conv2d.cpp
//   fewer filters than a vector has lanes              kernels of their own   few_filters.cpp
//   1x1 filters, but of few channels and long rows;    products of matrices   patch_conv2d.cpp
//   many weights and a stride; the gradient of a
//   picture, where there is a stride
//   3x3 filters, stride 1, a vector of channels        Winograd's algorithm   winograd_conv2d.cpp
//   a vector of channels and not many weights          direct kernels         direct_conv2d.cpp
//   each channel by itself                             kernels of their own   depthwise_conv2d.cpp
//   groups, dilation, few channels, many weights       oneDNN                 packed_conv2d.cpp
//   f64, strided views, what oneDNN is slow at         the oracle
//
// bf16 means that all is; the other ways compute in float. Tiles, Winograd's algorithm and direct kernels go
// image by image, together with relu and pooling (conv2d_layer.cpp). Each thread sums its own weight
// gradient; the sums are added in the order of the chunks, so that timing does not matter.
#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/picked_pixels.h"

namespace ronde::inline v0 {

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
  if (pixel_conv2d(out, x, conv) || half_patch_conv2d(out, x, conv)) return true;
  if (own_conv2d({.out = out, .x = x, .conv = conv}, norm)) return true;
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
  if (takes_few_filters(p)) {
    few_filters_conv2d(p, to, from, weight, bias);
  } else if (takes_patches(p)) {
    patch_conv2d(p, to, from, weight, bias, norm);
    return true;
  } else if (!packed_conv2d(p, to, from, weight, bias)) {
    return false;
  }
  if (norm) normalise(out, out, *norm);
  return true;
}

void OneDnnBackend::conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                          const Conv2dParams& params) {
  if (pixel_backward_input(grad_x, grad_out, weight, params) ||
      half_patch_backward_input(grad_x, grad_out, weight, params))
    return;
  if (own_conv2d_backward({.conv = {.grad_x = grad_x,
                                    .grad_out = grad_out,
                                    .weight = weight,
                                    .conv_out = {grad_out.size(1), grad_out.size(2)},
                                    .params = params}}))
    return;
  const ConvProblem p =
      problem_of(ConvPass::backward_input, grad_x.shape(), weight.shape(), grad_out.shape(), params);
  const bool is_empty = grad_out.count() == 0 || grad_x.count() == 0;
  const bool has_floats = dense_floats(grad_x, grad_out, weight) && !is_empty;
  if (has_floats && takes_few_filters(p))
    return few_filters_backward_input(p, grad_x.data<float>(), grad_out.data<float>(), weight.data<float>());
  if (has_floats && takes_patches(p))
    return patch_backward_input(p, grad_x.data<float>(), grad_out.data<float>(), weight.data<float>());
  if (!is_empty && dense_values(grad_x, grad_out, weight) && takes_depthwise(weight.shape()))
    return depthwise_backward_input(p, grad_x, grad_out, weight);
  if (has_floats &&
      packed_conv2d(p, grad_out.data<float>(), grad_x.data<float>(), weight.data<float>(), nullptr))
    return;
  WithBfloat16::conv2d_backward_input(grad_x, grad_out, weight, params);
}

void OneDnnBackend::conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                           const Tensor& grad_out, const Tensor& x,
                                           const Conv2dParams& params) {
  if (pixel_backward_weight(grad_weight, grad_bias, grad_out, x, params) ||
      half_patch_backward_weight(grad_weight, grad_bias, grad_out, x, params))
    return;
  const bool is_empty = grad_out.count() == 0 || x.count() == 0;
  const bool has_floats = dense_floats(grad_weight, grad_out, x) && !is_empty;
  ConvProblem p =
      problem_of(ConvPass::backward_weight, x.shape(), grad_weight.shape(), grad_out.shape(), params);
  p.has_bias = grad_bias.defined();
  if (has_floats && takes_few_filters(p)) {
    few_filters_backward_weight(p, grad_weight.data<float>(), grad_out.data<float>(), x.data<float>());
    return sum_pixels(grad_bias, grad_out);
  }
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

}  // namespace ronde::inline v0
