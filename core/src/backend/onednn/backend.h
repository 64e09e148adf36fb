/// The class behind make_onednn_backend; its members are defined in one file per family of kernels.
#pragma once

#include <optional>

#include "backend/bf16/in_float.h"
#include "backend/bf16/with_bfloat16.h"
#include "backend/onednn/conv_algorithm.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/conv_primitive.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/norm_map.h"

namespace ronde::inline v0 {

class OneDnnBackend final : public WithBfloat16 {
 public:
  OneDnnBackend(const Kernels& kernels, ConvAlgorithm algorithm);

  std::string name() const override { return "onednn"; }

  void unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) override;
  void unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                      const Tensor& y, UnaryParams params) override;
  void relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y, const Tensor& y,
                     double scale) override;
  void binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) override;
  void accumulate(const Tensor& x, const Tensor& y, double alpha) override;
  void reduce(ReduceOp op, const Tensor& out, const Tensor& x) override;
  void sum_of_squares(const Tensor& out, const Tensor& x) override;
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) override;
  void dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
             Epilogue epilogue) override;
  void conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dParams& params, Epilogue epilogue) override;
  void conv2d_norm(const Tensor& out, const Tensor& x, const Conv2dStage& conv,
                   const NormStage& norm) override;
  void conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                             const Conv2dParams& params) override;
  void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                              const Tensor& x, const Conv2dParams& params) override;
  void conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, const Conv2dParams& params, Epilogue epilogue,
                         const Pool2dParams& pool) override;
  void conv2d_backward(const Conv2dBackward& layer) override;
  bool fuses(const Conv2dLayer& layer) const override;
  void conv2d_layer(const Conv2dLayer& layer) override;
  void conv2d_layer_backward(const Conv2dLayerBackward& layer) override;
  void max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                  const Pool2dParams& params) override;
  void max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                           const Pool2dParams& params) override;
  void average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) override;
  void average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                               const Pool2dParams& params) override;
  void dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
               const DropoutParams& params) override;
  void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) override;
  void batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& gamma, const Tensor& beta, BatchNormParams params) override;
  void batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, BatchNormParams params) override;
  void batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                             const Tensor& gamma, const Tensor& beta, BatchNormParams params,
                             UnaryStage activation) override;
  void batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                      const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                      const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                      BatchNormParams params, UnaryStage activation) override;
  void batch_norm_add(const Tensor& out, const Tensor& x, const NormStage& norm,
                      const Tensor& addend) override;
  void batch_norm_add_relu_backward(const NormGradients& grads, const Tensor& grad_addend,
                                    const Tensor& grad_out, const Tensor& out, const Tensor& x,
                                    const NormStage& norm) override;
  void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                  const Tensor& gamma, const Tensor& beta, double epsilon) override;
  void layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, double epsilon) override;
  void lstm(const Tensor& states, const Tensor& memories, const Tensor& gates, const Tensor& x,
            const Tensor& recurrent_kernel, const Tensor& mask, RecurrentParams params) override;
  void lstm_backward(const Tensor& grad_x, const Tensor& grad_states, const Tensor& memories,
                     const Tensor& gates, const Tensor& recurrent_kernel, const Tensor& mask,
                     RecurrentParams params) override;
  void gru(const Tensor& states, const Tensor& gates, const Tensor& x, const Tensor& recurrent_kernel,
           const Tensor& recurrent_bias, const Tensor& mask, RecurrentParams params) override;
  void gru_backward(const Tensor& grad_x, const Tensor& grad_products, const Tensor& grad_states,
                    const Tensor& states, const Tensor& gates, const Tensor& recurrent_kernel,
                    const Tensor& mask, RecurrentParams params) override;
  void softmax(const Tensor& out, const Tensor& x) override;
  void softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override;
  void log_softmax(const Tensor& out, const Tensor& x) override;
  void log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override;
  void softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities, const Tensor& logits,
                             const Tensor& labels, double smoothing) override;
  void softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                      const Tensor& probabilities, const Tensor& labels,
                                      double smoothing) override;
  void sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                SgdParams params) override;
  void rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity, const Tensor& momentum,
                    const Tensor& mean_gradient, StepParams step, RmspropParams params) override;
  void adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                 const Tensor& max_velocity, StepParams step, AdamParams params) override;
  void adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                     const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) override;
  void adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                    AdagradParams params) override;
  void copy(const Tensor& out, const Tensor& x) override;

 private:
  // Norms; `addend` may be undefined.
  void normalise(const Tensor& out, const Tensor& x, const NormMap& map, const Tensor& addend = {});

  // A convolution, the first of the ways of Note [Fast convolutions] in conv2d.cpp that takes it, and the
  // norm behind it, which here and below may be null; false where the oracle has to do it. The members of
  // each way follow in the Note's order. Those that return bool are false where the way does not take it.
  bool fast_conv2d(const Tensor& out, const Tensor& x, const Conv2dStage& conv, const NormMap* norm);
  // The gradient of a bias, which may be undefined.
  void sum_pixels(const Tensor& grad_bias, const Tensor& grad_out);

  // bf16, 1x1 filters: products of matrices, Note [Pixels] in pixel_conv2d.cpp.
  bool takes_pixels(const Shape& weight, const Conv2dParams& params) const;
  bool pixel_conv2d(const Tensor& out, const Tensor& x, const Conv2dStage& conv);
  bool pixel_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                            const Conv2dParams& params);
  bool pixel_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                             const Tensor& x, const Conv2dParams& params);

  // bf16, a stride, or few pixels: products of patches, Note [Patches of bf16] in half_patch_conv2d.cpp.
  bool takes_half_patches(const ConvProblem& problem) const;
  bool half_patch_conv2d(const Tensor& out, const Tensor& x, const Conv2dStage& conv);
  bool half_patch_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                 const Conv2dParams& params);
  bool half_patch_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                                  const Tensor& x, const Conv2dParams& params);

  /// transposed_copy.cpp; false where it is none.
  bool copy_transposed(const Tensor& out, const Tensor& x);

  // Tiles: tile_conv2d.cpp, tile_layer*.cpp. Biases and gradients in f32, and the front's weight in f32 too.
  bool is_tiled(const ConvProblem& problem) const;
  void run_tiles(const Conv2dLayer& layer, const OwnForward& plan, const Tensor& front_floats);
  void run_tiles_backward(const Conv2dLayerBackward& layer, const OwnBackward& plan,
                          const Tensor& front_floats);

  // Many weights: products of patches, Note [Patches] in patch_conv2d.cpp. Biases may be null.
  bool takes_patches(const ConvProblem& problem) const;
  void patch_conv2d(const ConvProblem& problem, float* out, const float* x, const float* weight,
                    const float* bias, const NormMap* norm);
  void patch_backward_input(const ConvProblem& problem, float* grad_x, const float* grad_out,
                            const float* weight);
  void patch_backward_weight(const ConvProblem& problem, float* grad_weight, const float* grad_out,
                             const float* x);

  // Winograd: winograd_conv2d.cpp. Threads that share channels: Note [Few images] in few_images.cpp.
  bool is_winograd(const ConvProblem& problem) const;
  void share_conv2d(const ConvProblem& problem, std::int64_t parts, float* out, const float* x,
                    const float* weight, const float* bias);
  void share_backward_input(const ConvProblem& problem, std::int64_t parts, float* grad_x,
                            const float* grad_out, const float* weight);
  void share_backward_weight(const ConvProblem& problem, std::int64_t parts, float* grad_weight,
                             const float* grad_out, const float* x);

  // Direct kernels: direct_conv2d.cpp.
  bool is_direct(const ConvProblem& problem) const;

  // Tiles, Winograd or direct, with what is fused: conv2d_layer*.cpp. Images in f32 or bf16; weights in bf16
  // are few, and widened. A norm is of a convolution in f32 alone.
  bool own_conv2d(const Conv2dLayer& layer, const NormMap* norm = nullptr);
  bool own_conv2d_backward(const Conv2dLayerBackward& layer);
  bool parts_gradients(const Conv2dBackward& layer) const;
  std::optional<OwnForward> plan_forward(const Conv2dLayer& layer) const;
  std::optional<OwnBackward> plan_backward(const Conv2dLayerBackward& layer) const;
  std::optional<ConvKernels> own_kernels(const ConvProblem& problem) const;
  std::optional<ConvKernels> float_kernels(const ConvProblem& problem) const;
  ConvProblem in_front_of_pool(const ConvProblem& whole, const Shape& pooled, const Pool2dParams& pool,
                               bool has_front) const;

  // Few filters over many channels, or few channels of many filters: few_filters.cpp. The bias may be null.
  bool takes_few_filters(const ConvProblem& problem) const;
  void few_filters_conv2d(const ConvProblem& problem, float* out, const float* x, const float* weight,
                          const float* bias);
  void few_filters_backward_input(const ConvProblem& problem, float* grad_x, const float* grad_out,
                                  const float* weight);
  void few_filters_backward_weight(const ConvProblem& problem, float* grad_weight, const float* grad_out,
                                   const float* x);

  // Each channel by itself: depthwise_conv2d.cpp.
  bool takes_depthwise(const Shape& weight) const;
  void depthwise_conv2d(const ConvProblem& problem, const Tensor& out, const Tensor& x,
                        const Conv2dStage& conv, const NormMap* norm);
  void depthwise_backward_input(const ConvProblem& problem, const Tensor& grad_x, const Tensor& grad_out,
                                const Tensor& weight);
  void depthwise_backward_weight(const ConvProblem& problem, const Tensor& grad_weight,
                                 const Tensor& grad_bias, const Tensor& grad_out, const Tensor& x);

  // oneDNN: Note [Packed weights] in packed_conv2d.cpp.
  bool packed_conv2d(const ConvProblem& problem, float* out, float* x, const float* weight,
                     const float* bias);
  bool packed_backward_weight(const ConvProblem& problem, float* grad_weight, float* grad_bias,
                              float* grad_out, float* x);

  const Kernels& kernels_;
  const bool uses_winograd_;
  ConvCache conv_cache_;
};

inline bool is_dense(const Tensor& x, DType dtype) {
  return x.defined() && x.dtype() == dtype && x.is_contiguous();
}

/// Whether all of these are defined, f32 and dense.
template <class... Tensors>
bool dense_floats(const Tensors&... tensors) {
  return (is_dense(tensors, DType::f32) && ...);
}

/// Whether all of these are defined, f32 or bf16, and dense.
template <class... Tensors>
bool dense_values(const Tensors&... tensors) {
  return ((is_dense(tensors, DType::f32) || is_dense(tensors, DType::bf16)) && ...);
}

/// Whether images are as our own convolutions take them: dense, and f32 or, in mixed precision, bf16.
template <class... Tensors>
bool dense_images(const Conv2dParams& params, const Tensors&... tensors) {
  return params.products == Products::rounded ? dense_values(tensors...) : dense_floats(tensors...);
}

inline bool has_halves(const Tensor& x) {
  return is_dense(x, DType::bf16) && x.count() > 0;
}
inline bool dense_or_missing(const Tensor& x) {
  return !x.defined() || dense_floats(x);
}

inline bool takes_norm(const NormTensors& t) {
  return dense_floats(t.mean, t.variance) && dense_or_missing(t.gamma) && dense_or_missing(t.beta);
}

/// Whether our own pooling kernels take the places of the maxima as they are kept.
inline bool is_byte_index(const Tensor& argmax) {
  return argmax.dtype() == DType::u8 && argmax.is_contiguous();
}

/// Of a bf16 tensor.
inline std::uint16_t* bits_of(const Tensor& tensor) {
  return reinterpret_cast<std::uint16_t*>(tensor.data<bfloat16>());
}

inline float* floats_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<float>() : nullptr;
}

/// A layer, or its gradients, of images in bf16, which are multiplied as such.
template <class Layer>
Layer of_bfloat16(Layer layer) {
  layer.conv.params.products = Products::rounded;
  if (layer.front) layer.front->params.products = Products::rounded;
  return layer;
}

/// Adds up the gradients of weights that all threads have made.
template <class Passes>
void collect_weights(const Passes& passes, const Conv2dLayerBackward& layer) {
  if (passes.weight)
    passes.weight->collect(layer.conv.grad_weight.data<float>(), floats_or_null(layer.conv.grad_bias));
  if (passes.front_weight)
    passes.front_weight->collect(layer.grad_front_weight.data<float>(),
                                 floats_or_null(layer.grad_front_bias));
}

}  // namespace ronde::inline v0
