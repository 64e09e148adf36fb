/// Our own kernels, one function per family: each enqueues what a Call says. Host side, without CUDA's
/// headers; nor strings, which a file of kernels would parse again for every GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

/// What a kernel found wrong, in host memory that the device writes: the first one stays until it is told.
struct Complaint {
  std::int32_t is_set = 0;
  std::int32_t op = 0;     ///< Op
  std::int64_t value = 0;  ///< the index or label
  std::int64_t row = 0;    ///< where it stood
  std::int64_t limit = 0;  ///< it has to be below this
};

/// Where a kernel runs.
struct Place {
  Stream stream = nullptr;
  Complaint* complaint = nullptr;  ///< the device's address of it
};

/// Enqueues any call that needs no plan, by its family's function.
void run_kernel(const Call& call, const Place& place);

// elementwise.cu
void run_elementwise(const Call& call, const Place& place);
// relu_backward.cu
void run_relu_backward(const Call& call, const Place& place);
// reduce.cu
void run_reduction(const Call& call, const Place& place);
// softmax.cu
void run_softmax(const Call& call, const Place& place);
// rows.cu
void run_rows(const Call& call, const Place& place);
// pictures.cu
void run_pictures(const Call& call, const Place& place);
// dropout.cu
void run_dropout(const Call& call, const Place& place);
// pool2d.cu
void run_pooling(const Call& call, const Place& place);
// max_pool_backward.cu
void run_max_pool_backward(const Call& call, const Place& place);
// batch_norm.cu
void run_batch_norm(const Call& call, const Place& place);
// layer_norm.cu
void run_layer_norm(const Call& call, const Place& place);
// optimizers.cu
void run_optimizer(const Call& call, const Place& place);
// epilogue.cu: out of a call of dense from its product x, which is float where out is bf16: bias, relu and
// dropout, of which the call may have none
void run_epilogue(const Call& call, const Operand& x, const Place& place);
// direct_conv2d.cu, conv2d_check.cu: any stride, dilation, groups and floating dtype; slow
void run_direct_conv2d(const Call& call, const Place& place);

/// How far an element may be from the sum of its products.
struct ConvTolerance {
  double of_products = 0;  ///< times the sum of their magnitudes
  double of_result = 0;    ///< times the sum's own
};
constexpr int kConvSamples = 1024;
/// Of elements that are spread over a convolution's result, which is there already, computes the sums and writes for each
/// to `is_wrong`, which has kConvSamples bytes, whether the result's is too far away. Sums that are infinite or NaN tell
/// nothing.
void run_conv2d_check(const Call& call, const ConvTolerance& tolerance, unsigned char* is_wrong, const Place& place);

// few_taps.cu, few_taps_gradient.cu: a convolution of up to 4 channels, or the gradient of a weight, with up to
// 36 values a filter; not the gradient of a bias. `partial` has few_taps_workspace(...) bytes.
bool has_few_taps(const Call& call);
std::size_t few_taps_workspace(const Call& call);
void run_few_taps(const Call& call, void* partial, const Place& place);

// tiled_conv2d.cu: of floats multiplied as they are, channels and filters by fours, one group, input
// gradients of stride 1; not the gradient of a bias. `workspace` has tiled_conv2d_workspace(...) bytes.
bool has_tiled_conv2d(const Call& call);
std::size_t tiled_conv2d_workspace(const Call& call);
void run_tiled_conv2d(const Call& call, void* workspace, const Place& place);

/// Sums of the rows of x (rows, channels) by pieces, in an order that does not vary: the gradient of a bias.
/// `partial` has bias_workspace(...) bytes.
std::size_t bias_workspace(std::int64_t rows, std::int64_t channels);
void run_bias_gradient(const Operand& bias, const Operand& grad_out, void* partial, const Place& place);
/// The last of it: bias = the sum of `pieces` pieces.
void run_bias_sum(const Operand& bias, std::int64_t pieces, const void* partial, const Place& place);

}  // namespace ronde::inline v0::cuda
