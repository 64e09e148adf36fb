/// CpuBackend: every kernel in float and double, as readable loops and Eigen products. The oracle.
#pragma once

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>

#include "backend/cpu/caching_allocator.h"

namespace ronde::inline v0 {

class CpuBackend : public Backend {
 public:
  /// Starts with one thread; `ronde::init` gives it its share of the cores.
  CpuBackend();

  std::string name() const override { return "cpu"; }
  Device device() const override { return {}; }
  void* allocate(std::size_t bytes) override;
  void* allocate_once(std::size_t bytes) override;
  bool gives_zeros(std::size_t bytes) const override;
  void deallocate(void* memory, std::size_t bytes) noexcept override;
  void discard(void* memory, std::size_t bytes) noexcept override;
  void copy_from_host(void* destination, const void* source, std::size_t bytes) override;
  void copy_to_host(void* destination, const void* source, std::size_t bytes) override;
  void synchronize() override {}
  ThreadPool& threads() override { return threads_; }
  const ThreadPool& threads() const { return threads_; }

  void fill(const Tensor& out, double value) override;
  void copy(const Tensor& out, const Tensor& x) override;
  void unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) override;
  void unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                      const Tensor& y, UnaryParams params) override;
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
  void gather_scaled(const Tensor& out, const Tensor& table, const Tensor& indices, double scale,
                     double offset) override;
  void change_pictures(const Tensor& out, const Tensor& table, const Tensor& indices, const Tensor& numbers,
                       const PictureParams& params) override;
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
  void sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                SgdParams params) override;
  void rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity, const Tensor& momentum,
                    const Tensor& mean_gradient, StepParams step, RmspropParams params) override;
  void adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                 const Tensor& max_velocity, StepParams step, AdamParams params) override;
  void adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                     const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) override;
  void adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                    AdagradParams params) override;

 private:
  CachingAllocator allocator_;
  ThreadPool threads_;
};

}  // namespace ronde::inline v0
