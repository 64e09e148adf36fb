/// Thresholds of outputs that say yes.
#pragma once

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// Where Keras puts it: among floats, so that an output of 0.3 is not above a threshold of 0.3. Outputs in
/// f64 have it as it is.
inline double threshold_of(const Tensor& outputs, double threshold) {
  return outputs.dtype() == DType::f64 ? threshold : static_cast<double>(static_cast<float>(threshold));
}

}  // namespace ronde::inline v0
