/// What PyTorch's layers begin with, for nets whose recipe was found there.
#pragma once

#include <ronde/nn/initializer.h>

namespace ronde::inline v0 {

/// Uniform between -1 / sqrt(fan in) and 1 / sqrt(fan in).
inline Initializer torch_uniform() {
  return Initializer::variance_scaling(
      {.scale = 1.0 / 3.0, .distribution = Initializer::Distribution::uniform});
}

}  // namespace ronde::inline v0
