/// WithBfloat16: the oracle, which takes bf16 too. A kernel that is given bf16 tensors is called again with
/// float copies of them, by way of the backend's own override, so a result is rounded once, to nearest,
/// whatever was computed on the way; convolutions are told that what they multiply was bf16.
/// A backend that derives from it takes bf16 tensors itself where it can, and leaves the others to it.
/// The steps of optimizers are left out: weights are float at least.
#pragma once

#include "backend/cpu/cpu_backend.h"

namespace ronde::inline v0 {

class WithBfloat16 : public CpuBackend {
 public:
  void unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) override;
  void unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                      const Tensor& y, UnaryParams params) override;
  void relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y, const Tensor& y,
                     double scale) override;
  void binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) override;
  void accumulate(const Tensor& x, const Tensor& y, double alpha) override;
  void reduce(ReduceOp op, const Tensor& out, const Tensor& x) override;
  void argmax(const Tensor& out, const Tensor& x) override;
  void sum_of_squares(const Tensor& out, const Tensor& x) override;
  void count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) override;
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) override;
  void dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
             Epilogue epilogue) override;
  void gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) override;
  void scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) override;
  void conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dParams& params, Epilogue epilogue) override;
  void conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                             const Conv2dParams& params) override;
  void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                              const Tensor& x, const Conv2dParams& params) override;
  void conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, const Conv2dParams& params, Epilogue epilogue,
                         const Pool2dParams& pool) override;
  void conv2d_backward(const Conv2dBackward& layer) override;
  void max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                  const Pool2dParams& params) override;
  void max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                           const Pool2dParams& params) override;
  void average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) override;
  void average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                               const Pool2dParams& params) override;
  void softmax(const Tensor& out, const Tensor& x) override;
  void softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override;
  void log_softmax(const Tensor& out, const Tensor& x) override;
  void log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override;
  void softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities, const Tensor& logits,
                             const Tensor& labels, double smoothing) override;
  void softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                      const Tensor& probabilities, const Tensor& labels,
                                      double smoothing) override;
  void dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
               const DropoutParams& params) override;
  void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) override;
  void batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& gamma, const Tensor& beta, BatchNormParams params) override;
  void batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, BatchNormParams params) override;
  void batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                             const Tensor& gamma, const Tensor& beta, BatchNormParams params,
                             UnaryStage activation) override;
  void batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                      const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                      const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                      BatchNormParams params, UnaryStage activation) override;
};

}  // namespace ronde::inline v0
