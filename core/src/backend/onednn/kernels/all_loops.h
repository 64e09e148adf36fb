/// Everything of one instruction set. Included by one file per set, which first defines
/// RONDE_VECTOR_BYTES, RONDE_VECTOR_REGISTERS and RONDE_KERNEL_TABLE (the name of its table) and includes its
/// multiply_lower.
#pragma once

#include "backend/onednn/kernels/batch_norm_loops.h"
#include "backend/onednn/kernels/bfloat16_loops.h"
#include "backend/onednn/kernels/conv_gradient_loops.h"
#include "backend/onednn/kernels/conv_loops.h"
#include "backend/onednn/kernels/depthwise_loops.h"
#include "backend/onednn/kernels/dropout_loops.h"
#include "backend/onednn/kernels/elementwise_loops.h"
#include "backend/onednn/kernels/few_filters_loops.h"
#include "backend/onednn/kernels/layer_norm_loops.h"
#include "backend/onednn/kernels/pooling_loops.h"
#include "backend/onednn/kernels/product_loops.h"
#include "backend/onednn/kernels/recurrent_loops.h"
#include "backend/onednn/kernels/reduction_loops.h"
#include "backend/onednn/kernels/softmax_loops.h"
#include "backend/onednn/kernels/transposition_loops.h"
#include "backend/onednn/kernels/winograd_loops.h"
// last, as clang rounds what stands behind it like the optimizers
#include "backend/onednn/kernels/optimizer_loops.h"

namespace ronde::inline v0 {

const Kernels RONDE_KERNEL_TABLE{
    .has_unary = has_unary,
    .unary = unary,
    .has_unary_backward = has_unary_backward,
    .unary_backward = unary_backward,
    .binary = binary,
    .binary_scalar = binary_scalar,
    .accumulate = accumulate,
    .bias_epilogue = bias_epilogue,
    .to_bfloat16 = to_bfloat16,
    .from_bfloat16 = from_bfloat16,
    .copy_transposed = copy_transposed,
    .sum = sum,
    .sum_of_squares = sum_of_squares,
    .sum_rows = sum_rows,
    .largest = largest,
    .sum_columns = sum_columns,
    .sum_distances = sum_distances,
    .map_columns = map_columns,
    .sum_gradients = sum_gradients,
    .sum_passed_gradients = sum_passed_gradients,
    .batch_norm_backward = batch_norm_backward,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .fetch = fetch,
    .max_pool = max_pool,
    .max_pool_backward = max_pool_backward,
    .average_pool = average_pool,
    .average_pool_backward = average_pool_backward,
    .lanes = kLanes,
    .direct_conv = direct_conv,
    .conv_backward_weight = conv_backward_weight,
    .few_filters_conv = few_filters_conv,
    .depthwise_conv = depthwise_conv,
    .depthwise_backward_weight = depthwise_backward_weight,
    .winograd_filters = winograd_filters,
    .winograd_conv = winograd_conv,
    .winograd_conv_pool = winograd_conv_pool,
    .winograd_conv_few = winograd_conv_few,
    .winograd_backward_input_few = winograd_backward_input_few,
    .winograd_backward_weight_few = winograd_backward_weight_few,
    .winograd_backward_input = winograd_backward_input,
    .winograd_backward = winograd_backward,
    .winograd_weight_gradient = winograd_weight_gradient,
    .product = product,
    .pack_columns = pack_columns,
    .lstm_step = lstm_step,
    .lstm_step_backward = lstm_step_backward,
    .gru_step = gru_step,
    .gru_step_backward = gru_step_backward,
    .dropout = dropout,
    .sgd = sgd,
    .rmsprop = rmsprop,
    .adam = adam,
    .adadelta = adadelta,
    .adagrad = adagrad,
};

}  // namespace ronde::inline v0
