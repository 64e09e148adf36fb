/// Residual nets for images (32, 32, 3) with 6 n + 2 weighted layers, after He et al., "Deep residual
/// learning for image recognition" (2015), section 4.2: three stages of n blocks of two 3 x 3 convolutions
/// with 16, 32 and 64 filters, stride 2 at the start of the second and third.
///
/// Where a stage changes the shape, the shortcut is a 1 x 1 convolution with stride 2 (the paper's option B).
/// Its option A pads channels with zeros, for which Keras has no layer. As in Keras' example "resnet v1",
/// convolutions have biases. Numbers of weights, with the moving statistics: resnet20 274,442, resnet32
/// 470,218, resnet56 861,770.
///
///     Model model(resnet20(), {32, 32, 3});
///     const CifarResnetOptions as_in_keras{.depth = 20, .conv_regularizer = Regularizer::l2(1e-4)};
///     Model regularized(cifar_resnet(as_in_keras), {32, 32, 3});
///
/// Kernels start as He normal. Not built yet; ends in a softmax.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/nn/graph.h>

namespace ronde::inline v0 {

struct CifarResnetOptions {
  int depth = 20;  ///< 6 n + 2: 20, 32, 44, 56, 110, ...
  std::int64_t classes = 10;
  Regularizer conv_regularizer = {};  ///< of the kernels of all convolutions
};

RONDE_API std::unique_ptr<Graph> cifar_resnet(CifarResnetOptions options = {});

inline std::unique_ptr<Graph> resnet20() {
  return cifar_resnet({.depth = 20});
}
inline std::unique_ptr<Graph> resnet32() {
  return cifar_resnet({.depth = 32});
}
inline std::unique_ptr<Graph> resnet56() {
  return cifar_resnet({.depth = 56});
}

}  // namespace ronde::inline v0
