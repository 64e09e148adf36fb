/// The nets of the MNIST recipes, for images (28, 28, 1) with values in [0, 1]. All convolutions are 3 x 3,
/// `valid`, with relu.
#pragma once

#include <memory>

#include <ronde/nn/sequential.h>

namespace ronde::inline v0 {

enum class MnistCnn {
  keras,      ///< conv32 - conv64 - pool - drop .25 - dense128 - drop .5 - dense10: 1,199,882 weights
  tf2,        ///< conv32 - conv64 - pool - dense128 - dense10: 1,199,882 weights
  estimator,  ///< conv32 - pool - conv64 - pool - dense128 - dense10: 225,034 weights
};

/// Not built yet; ends in a softmax.
RONDE_API std::unique_ptr<Sequential> mnist_cnn(MnistCnn variant = MnistCnn::keras);

}  // namespace ronde::inline v0
