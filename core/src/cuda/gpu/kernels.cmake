# The files of our own kernels: the module compiles them for GPUs, the tests for the CPU.
set(ronde_cuda_kernels
  batch_norm.cu
  conv2d_check.cu
  direct_conv2d.cu
  dropout.cu
  elementwise.cu
  epilogue.cu
  few_taps.cu
  few_taps_gradient.cu
  layer_norm.cu
  optimizers.cu
  pictures.cu
  pool2d.cu
  reduce.cu
  relu_backward.cu
  rows.cu
  softmax.cu)
