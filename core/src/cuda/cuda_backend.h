/// CudaBackend: every kernel of Backend on one device, as Calls that a Runtime enqueues on one stream.
///
/// All of it is host logic without CUDA's headers: which memory, in which order, what a library decided
/// before. Kernels return before they have run; the host waits in `copy_to_host` and `synchronize` alone, and
/// there it hears of what failed since. Indices and labels are checked on the device, so a wrong one is an
/// error of that next wait.
///
/// A kernel that cannot read or write its bf16 operands (takes_bfloat16.h), or for which a library has no
/// plan or a worse one, is given float copies of them, and its results are rounded: `detours` has the list.
/// What it multiplies was bf16 then, and tensor cores may have it.
///
/// Threads may use it at once, and so may their steps (captured_step.h): how one of them repeats a step, its
/// gate and its pool are that thread's alone, and while it captures the others wait (turns.h).
///
/// Inside `captured_step.h` nothing may wait, copy from the host or need new memory of the device.
#pragma once

#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>

#include "cuda/backend_options.h"
#include "cuda/detours.h"
#include "cuda/device_allocator.h"
#include "cuda/rounded_copies.h"
#include "cuda/runtime.h"
#include "cuda/side_stream.h"
#include "cuda/staging.h"
#include "cuda/turns.h"

namespace ronde::inline v0::cuda {

class NumbersOnDevice;

class CudaBackend : public Backend {
 public:
  /// The runtime must outlive the backend, and the backend its tensors.
  explicit CudaBackend(Runtime& runtime, CudaBackendOptions options = {});
  ~CudaBackend() override;

  /// What kernels are enqueued on.
  Stream stream() const { return stream_; }
  Runtime& runtime() { return runtime_; }
  DeviceAllocator& allocator() { return allocator_; }
  /// Plans made so far.
  std::size_t plans() const;
  Detours& detours() { return detours_; }
  /// Whoever writes to memory of this device by another way than this class tells them.
  RoundedCopies& rounded_copies() { return rounded_copies_; }

  /// How a repeated step has its body run (captured_step.h): an InThread of that kind for this backend.
  struct Repetition {
    enum class Calls { launched, captured, left_out };
    Calls calls;
    NumbersOnDevice& numbers;  ///< where optimizer steps find theirs
    SideStream& side;
  };
  /// nullptr: this thread repeats none, and the numbers of an optimizer step are in the call itself.
  const Repetition* repetition() const;
  /// Whether calls are left out, because a graph repeats them: only the host's part of a body is wanted.
  bool leaves_out() const { return repeats_as(Repetition::Calls::left_out); }
  bool is_capturing() const { return repeats_as(Repetition::Calls::captured); }
  /// Whoever gives `stream()` something by another way than this class calls this before, in a turn.
  void join_streams();
  Turns& turns() { return turns_; }
  SideStreams& side_streams() { return side_streams_; }
  bool wants_graphs() const { return options_.graphs; }
  bool wants_windows() const { return options_.windows; }
  /// Of the convolutions planned from here on.
  void use_engines(Engines engines);
  Engines engines() const;

  std::string name() const override { return "cuda"; }
  Device device() const override { return {DeviceType::cuda, options_.index}; }
  void* allocate(std::size_t bytes) override;
  void deallocate(void* memory, std::size_t) noexcept override { allocator_.deallocate(memory); }
  void copy_from_host(void* destination, const void* source, std::size_t bytes) override;
  void copy_to_host(void* destination, const void* source, std::size_t bytes) override;
  void synchronize() override;
  /// One thread: the device is what computes.
  ThreadPool& threads() override { return threads_; }

  Tensor rounded(const Tensor& x) override;
  std::shared_ptr<const void> keep_rounded(const Tensor& weights) override;

  void fill(const Tensor& out, double value) override;
  void copy(const Tensor& out, const Tensor& x) override;
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
  void dense_dropout(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     Epilogue epilogue, const Tensor& sample_keys, const DropoutParams& params) override;
  void dense_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                             const Tensor& x) override;
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
  /// Convolution, relu, pooling and dropout: the last two are one kernel, and so are the gradients of the
  /// last three.
  bool fuses(const Conv2dLayer& layer) const override;
  void conv2d_layer(const Conv2dLayer& layer) override;
  void conv2d_layer_backward(const Conv2dLayerBackward& layer) override;
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
  void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                  const Tensor& gamma, const Tensor& beta, double epsilon) override;
  void layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, double epsilon) override;
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
  struct Planned {
    Plan plan = nullptr;
    std::size_t workspace = 0;
    std::optional<std::string> refusal = {};  ///< why a library wants float copies of such bf16 operands
    Detours::Cause cause = Detours::Cause::library;  ///< whether it has to have them
  };
  using Tensors = std::span<const Tensor* const>;

  /// `outputs` of `tensors` are written; undefined ones are passed on as such.
  void enqueue(Op op, int outputs, std::initializer_list<const Tensor*> tensors,
               const Attributes& attributes = {}) {
    enqueue(op, outputs, Tensors(tensors.begin(), tensors.size()), attributes);
  }
  void enqueue(Op op, int outputs, Tensors tensors, const Attributes& attributes);
  /// For the sums of a bias' gradient, if it is wanted, over all that lies in front of the last axis.
  static Tensor scratch_of_bias(const Tensor& grad_bias, const Tensor& grad);
  void enqueue_in_float(const Call& call, Tensors tensors, Detours::Cause cause, const std::string& why);
  void pooled_backward(const Conv2dBackward& layer, double dropout_scale);
  /// Unless a library refuses it.
  Planned launch(const Call& call, Tensors tensors);
  void note_outputs(const Call& call);
  Tensor make_rounded(const Tensor& weights);
  void round(const Tensor& rounded, const Tensor& weights);
  const StepNumbers* numbers_for(const Attributes& attributes);
  void require_device() const;
  bool repeats_as(Repetition::Calls calls) const { return repetition() && repetition()->calls == calls; }
  Planned plan_for(const Call& call);

  Runtime& runtime_;
  CudaBackendOptions options_;
  Stream stream_;
  DeviceAllocator allocator_;
  Staging staging_;
  Turns turns_;
  SideStreams side_streams_;
  Detours detours_;
  RoundedCopies rounded_copies_;
  ThreadPool threads_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Planned> plans_;
};

}  // namespace ronde::inline v0::cuda
