// CudaBackend's kernels of images: convolutions and pooling.
#include "cuda/cuda_backend.h"

namespace ronde::inline v0::cuda {

void CudaBackend::conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Conv2dParams& params, Epilogue epilogue) {
  enqueue(Op::conv2d, 1, {&out, &x, &weight, &bias}, {.epilogue = epilogue, .conv = params});
}

void CudaBackend::conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                        const Conv2dParams& params) {
  enqueue(Op::conv2d_backward_input, 1, {&grad_x, &grad_out, &weight}, {.conv = params});
}

void CudaBackend::conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                         const Tensor& grad_out, const Tensor& x,
                                         const Conv2dParams& params) {
  enqueue(Op::conv2d_backward_weight, 2, {&grad_weight, &grad_bias, &grad_out, &x}, {.conv = params});
}

void CudaBackend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                    const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                    Epilogue epilogue, const Pool2dParams& pool) {
  Backend::conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool);
}

void CudaBackend::conv2d_backward(const Conv2dBackward& layer) {
  Backend::conv2d_backward(layer);
}

void CudaBackend::max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                             const Pool2dParams& params) {
  enqueue(Op::max_pool2d, 2, {&out, &argmax, &x}, {.pool = params});
}

void CudaBackend::max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                      const Pool2dParams& params) {
  enqueue(Op::max_pool2d_backward, 1, {&grad_x, &grad_out, &argmax}, {.pool = params});
}

void CudaBackend::average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) {
  enqueue(Op::average_pool2d, 1, {&out, &x}, {.pool = params});
}

void CudaBackend::average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                          const Pool2dParams& params) {
  enqueue(Op::average_pool2d_backward, 1, {&grad_x, &grad_out}, {.pool = params});
}

}  // namespace ronde::inline v0::cuda
