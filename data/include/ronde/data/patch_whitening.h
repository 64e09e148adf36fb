/// Kernels that whiten: a first convolution whose outputs for small patches of the pictures are not
/// correlated, each with variance 1.
///
///     whiten.variable.value().copy_from(patch_whitening_kernel(images, {.kernel = 2}));
///
/// The filters are the eigenvectors of the patches' second moments, divided by the square roots of their
/// eigenvalues, the strongest first, and then the same negated: twice as many as a patch has values, so that
/// a ReLU or GELU loses nothing. They need no training. Source: Page, "How to train your ResNet", 2019; in
/// this form Jordan, "94% on CIFAR-10 in 3.29 seconds", 2024.
#pragma once

#include <cstdint>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

struct PatchWhiteningOptions {
  std::int64_t kernel = 2;  ///< side of a patch, in pixels
  double epsilon = 5e-4;    ///< added to the eigenvalues: what is nearly constant is not blown up
};

/// For pictures (n, h, w, c) as the convolution will see them, f32 or f64 in host memory; some thousands are
/// enough. (2 * kernel * kernel * c, kernel, kernel, c), as Conv2D's kernel lies in memory; f32.
RONDE_API Tensor patch_whitening_kernel(const Tensor& images, PatchWhiteningOptions options = {});

}  // namespace ronde::inline v0
