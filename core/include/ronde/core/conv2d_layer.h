/// A convolution with what stands before and behind it, as a Backend may compute it in one go.
#pragma once

#include <optional>

#include <ronde/core/kernel_params.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// epilogue(cross-correlation with `weight` + bias); weight OHWI, bias optional.
struct Conv2dStage {
  Tensor weight = {}, bias = {};
  Conv2dParams params = {};
  Epilogue epilogue = Epilogue::none;
};

/// A batch norm with given statistics, as Backend::batch_norm, and the activation behind it.
struct NormStage {
  Tensor mean = {}, variance = {}, gamma = {}, beta = {};
  BatchNormParams params = {};
  UnaryStage activation = {};
};
/// Its gradients; those of gamma and beta optional.
struct NormGradients {
  Tensor x = {}, gamma = {}, beta = {};
};

/// front -> conv -> max-pooling -> dropout, of which all but `conv` are optional: Backend::conv2d_layer.
struct Conv2dLayer {
  Tensor out = {};     ///< written
  Tensor argmax = {};  ///< written, as by max_pool2d; undefined: no pooling
  Tensor x = {};
  std::optional<Conv2dStage> front = {};  ///< a convolution of x, for which the result is kept nowhere
  Conv2dStage conv = {};
  Pool2dParams pool = {};
  Tensor sample_keys = {};  ///< as for dropout; undefined: no dropout
  DropoutParams dropout = {};
};

/// The gradients of a convolution, or of one with relu and max-pooling behind it: Backend::conv2d_backward.
struct Conv2dBackward {
  Tensor grad_x = {}, grad_weight = {}, grad_bias = {};  ///< written, unless undefined
  Tensor grad_out = {};                                  ///< of the whole layer's result
  Tensor x = {}, weight = {};                            ///< x for grad_weight, weight for grad_x
  Tensor out = {};                                       ///< the result, if it has a relu
  Tensor argmax = {};                                    ///< of the max-pooling, if there is one
  Size2d conv_out = {};                                  ///< of the convolution's own result
  Conv2dParams params = {};
  Pool2dParams pool = {};
};

/// The gradients of a Conv2dLayer: Backend::conv2d_layer_backward. With a front, conv.x is the front's input
/// and conv.grad_x is undefined. With dropout there is a relu, and conv.out is the result behind both: the
/// elements that pass the gradient on are those that are positive there.
struct Conv2dLayerBackward {
  Conv2dBackward conv = {};
  std::optional<Conv2dStage> front = {};
  Tensor grad_front_weight = {}, grad_front_bias = {};  ///< written, unless undefined
  double dropout_scale = 1.0;                           ///< 1 / (1 - rate)
};

}  // namespace ronde::inline v0
