/// The residual nets for ImageNet of He et al., "Deep residual learning for image recognition" (2015), for
/// images (h, w, 3), usually 224 x 224.
///
/// Built as torchvision's: convolutions have no bias, padding is the same on both sides, epsilon is 1e-5, and
/// resnet50 has its stride in the 3 x 3 convolution ("v1.5"). So they have torchvision's trained weights'
/// shapes and counts: resnet18 11,689,512, resnet50 25,557,032, moving statistics not counted.
///
///     Model model(resnet50(), {224, 224, 3});
///
/// For images as small as CIFAR's there is the stem that is used with these nets there: a 3 x 3 convolution
/// with stride 1 and no pooling, so that images shrink 8 times in place of 32. With 10 classes resnet18 then
/// has 11,173,962 weights.
///
///     Model model(resnet18({.classes = 10, .stem = ResnetStem::cifar}), {32, 32, 3});
///
/// Kernels start as He normal. Not built yet; ends in a softmax.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/nn/graph.h>
#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

/// What is in front of the four stages, with 64 filters.
enum class ResnetStem {
  imagenet,  ///< a 7 x 7 convolution with stride 2, and 3 x 3 max-pooling with stride 2
  cifar,     ///< a 3 x 3 convolution
};

struct ResnetOptions {
  std::int64_t classes = 1000;
  ResnetStem stem = ResnetStem::imagenet;
  Initializer kernel_initializer = Initializer::he_normal;
};

RONDE_API std::unique_ptr<Graph> resnet18(ResnetOptions options = {});
RONDE_API std::unique_ptr<Graph> resnet50(ResnetOptions options = {});

}  // namespace ronde::inline v0
