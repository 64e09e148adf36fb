#include "cuda/gpu/kernels.h"

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

void run_kernel(const Call& call, const Place& place) {
  switch (call.op) {
    case Op::fill:
    case Op::copy:
    case Op::unary:
    case Op::unary_backward:
    case Op::binary:
    case Op::accumulate:
      return run_elementwise(call, place);
    case Op::relu_backward:
      return run_relu_backward(call, place);
    case Op::reduce:
    case Op::argmax:
    case Op::sum_of_squares:
    case Op::square_sums:
    case Op::count_correct:
      return run_reduction(call, place);
    case Op::gather_rows:
    case Op::gather_scaled:
    case Op::scatter_add_rows:
      return run_rows(call, place);
    case Op::change_pictures:
      return run_pictures(call, place);
    case Op::max_pool2d_backward:
      return run_max_pool_backward(call, place);
    case Op::max_pool2d:
    case Op::average_pool2d:
    case Op::average_pool2d_backward:
      return run_pooling(call, place);
    case Op::softmax:
    case Op::softmax_backward:
    case Op::log_softmax:
    case Op::log_softmax_backward:
    case Op::softmax_cross_entropy:
    case Op::softmax_cross_entropy_backward:
      return run_softmax(call, place);
    case Op::dropout:
      return run_dropout(call, place);
    case Op::batch_statistics:
    case Op::batch_norm:
    case Op::batch_norm_backward:
      return run_batch_norm(call, place);
    case Op::layer_norm:
    case Op::layer_norm_backward:
      return run_layer_norm(call, place);
    case Op::sgd_step:
    case Op::rmsprop_step:
    case Op::adam_step:
    case Op::adadelta_step:
    case Op::adagrad_step:
      return run_optimizer(call, place);
    case Op::matmul:
    case Op::dense:
    case Op::dense_backward_weight:
    case Op::conv2d:
    case Op::conv2d_backward_input:
    case Op::conv2d_backward_weight:
      break;
  }
  throw GpuError("a kernel without its plan");
}

}  // namespace ronde::inline v0::cuda
