// A convolution and what stands behind it: nothing of its own.
#include "backend/cpu/cpu_backend.h"

namespace ronde::inline v0 {

void CpuBackend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                   const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                   Epilogue epilogue, const Pool2dParams& pool) {
  Backend::conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool);
}

void CpuBackend::conv2d_backward(const Conv2dBackward& layer) {
  Backend::conv2d_backward(layer);
}

}  // namespace ronde::inline v0
