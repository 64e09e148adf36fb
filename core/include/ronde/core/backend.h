/// Backend: memory and kernels of one device, behind one abstract class.
///
/// A kernel gets shaped, allocated outputs and writes them whole, unless its comment says that it
/// accumulates. It allocates nothing a caller can see and enqueues on the backend's current stream (a CPU
/// backend has run when it returns). Tensors are NHWC; unless a comment says otherwise they are contiguous,
/// of one floating dtype, and on this backend. Shapes are checked by the operations in ops.h that call the
/// kernels.
///
/// In mixed precision some tensors of a kernel are bf16 and others f32: weights and what is summed over a
/// batch (their gradients, statistics) may be f32 beside bf16 activations. Sums are made in f32, and each
/// result is rounded to its tensor's dtype once. Recurrent layers and optimizer steps take no bf16.
///
/// `CpuBackend` implements everything in float and double, readably: the oracle. Another backend is tested
/// against it, kernel by kernel, in tests/backend_ops. An undefined Tensor passed for an optional argument
/// means "not wanted". Thread safety: kernels may be called from several threads at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/core/conv2d_layer.h>
#include <ronde/core/device.h>
#include <ronde/core/kernel_params.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

class ThreadPool;

class RONDE_API Backend {
 public:
  virtual ~Backend() = default;

  // --- runtime
  /// "cpu", "onednn", ...
  virtual std::string name() const = 0;
  virtual Device device() const = 0;
  /// Memory aligned to 64 bytes, from a cache that a training step soon never misses.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Past that cache, for what is large and seldom: `deallocate` gives it back to the system.
  virtual void* allocate_once(std::size_t bytes) { return allocate(bytes); }
  /// Whether so much comes from `allocate_once` as zeros.
  virtual bool gives_zeros(std::size_t /*bytes*/) const { return false; }
  virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;
  /// A part of such memory whose content is not wanted any more; its whole pages may go back to the system
  /// now.
  virtual void discard(void* /*memory*/, std::size_t /*bytes*/) noexcept {}
  virtual void copy_from_host(void* destination, const void* source, std::size_t bytes) = 0;
  virtual void copy_to_host(void* destination, const void* source, std::size_t bytes) = 0;
  /// Waits until everything enqueued has run.
  virtual void synchronize() = 0;
  /// The threads that kernels are split over.
  virtual ThreadPool& threads() = 0;

  // --- weights in bf16
  /// x in bf16, dense, for products. Perhaps a view of a copy that is kept and follows x: not to be written
  /// to.
  virtual Tensor rounded(const Tensor& x) { return x.to(DType::bf16); }
  /// Announces that parts of these f32 weights will be asked for by `rounded` again and again, for as long as
  /// the answer lives. nullptr: this backend keeps no copies.
  virtual std::shared_ptr<const void> keep_rounded(const Tensor&) { return nullptr; }

  // --- elementwise; inputs and outputs may be strided views
  virtual void fill(const Tensor& out, double value) = 0;
  /// Any strides, any pair of dtypes; a float becomes an integer by truncation.
  virtual void copy(const Tensor& out, const Tensor& x) = 0;
  virtual void unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) = 0;
  /// grad_x = grad_y * d op(x) / dx, where y = op(x). Reads y alone for relu, sigmoid, tanh, exp and sqrt, x
  /// alone for all others; what is not read may be undefined. grad_x may be grad_y.
  virtual void unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                              const Tensor& y, UnaryParams params) = 0;
  /// Of y (..., c), behind a relu and perhaps a dropout: grad_x = (y > 0 ? scale : 0) * grad_y, and, unless
  /// undefined, grad_bias (c) = the same summed over all axes but the last. grad_x may be grad_y.
  virtual void relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y,
                             const Tensor& y, double scale);
  virtual void binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) = 0;
  /// x += alpha * y; x may be f64 beside an f32 y.
  virtual void accumulate(const Tensor& x, const Tensor& y, double alpha) = 0;

  // --- reductions
  /// `out` has x's rank; an axis is reduced where out's extent is 1 and x's is not. Views are allowed. Of no
  /// elements the sum is 0, the mean NaN, the maximum -inf.
  virtual void reduce(ReduceOp op, const Tensor& out, const Tensor& x) = 0;
  /// Index of the largest element along the last axis, first one wins; x (..., k) -> out i64 (...).
  virtual void argmax(const Tensor& out, const Tensor& x) = 0;
  /// Sum of squares of all elements -> out f64 scalar.
  virtual void sum_of_squares(const Tensor& out, const Tensor& x) = 0;
  /// Accumulates into `total` (i64 scalar) how many rows of scores (n, k) have their maximum at labels i32
  /// (n).
  virtual void count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) = 0;

  // --- matrix products
  /// out (m, n) = op(a) (m, k) * op(b) (k, n); or rank 3 with one leading batch extent on all three.
  virtual void matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) = 0;
  /// out (n, units) = epilogue(x (n, in) * weight (in, units) + bias (units)); bias optional.
  virtual void dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     Epilogue epilogue) = 0;
  /// The same values as by dense and dropout, one after the other.
  virtual void dense_dropout(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             Epilogue epilogue, const Tensor& sample_keys, const DropoutParams& params);
  /// Writes grad_weight (in, units) = x^T grad_out and, unless undefined, grad_bias (units).
  virtual void dense_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                     const Tensor& grad_out, const Tensor& x);

  // --- rows of a table (rows, d), chosen by indices i32 (n); an error for an index outside 0 ... rows - 1
  /// out (n, d) = row indices[i] of the table.
  virtual void gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) = 0;
  /// out (n, d), f32 or f64 = row indices[i] of a table of u8, i32, f32 or f64, * scale + offset: scaled() of
  /// scaled.h.
  virtual void gather_scaled(const Tensor& out, const Tensor& table, const Tensor& indices, double scale,
                             double offset) = 0;
  /// Pictures out (n, h, w, c), f32 or f64, of a table (rows, h, w, c): those at `indices`, scaled as by
  /// gather_scaled, then changed. Undefined indices: the table's n pictures in their order. numbers: f64 (n,
  /// steps.numbers), or (1, steps.numbers) for all.
  virtual void change_pictures(const Tensor& out, const Tensor& table, const Tensor& indices,
                               const Tensor& numbers, const PictureParams& params) = 0;
  /// Accumulates x (n, d): row indices[i] of the table += row i of x; into each row in ascending order of i.
  virtual void scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) = 0;

  // --- convolution (cross-correlation); x (n, h, w, c), weight OHWI (o, kh, kw, c / groups), out (n, oh, ow,
  // o)
  virtual void conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const Conv2dParams& params, Epilogue epilogue) = 0;
  virtual void conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                     const Conv2dParams& params) = 0;
  /// Writes grad_weight (OHWI) and, unless undefined, grad_bias (o).
  virtual void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                      const Tensor& grad_out, const Tensor& x,
                                      const Conv2dParams& params) = 0;
  /// max_pool2d of conv2d, whose own result is kept nowhere; `argmax` as max_pool2d's.
  virtual void conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                 const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                 Epilogue epilogue, const Pool2dParams& pool) = 0;
  /// `norm` of conv2d, whose own result is kept nowhere: the same values as by both, one after the other.
  virtual void conv2d_norm(const Tensor& out, const Tensor& x, const Conv2dStage& conv,
                           const NormStage& norm);
  /// All gradients of conv2d or of conv2d_max_pool2d at once.
  virtual void conv2d_backward(const Conv2dBackward& layer) = 0;
  /// Whether conv2d_layer goes through this layer image by image; else separate calls are as good.
  virtual bool fuses(const Conv2dLayer&) const { return false; }
  /// The same values as by conv2d, conv2d_max_pool2d and dropout, one after the other.
  virtual void conv2d_layer(const Conv2dLayer& layer);
  /// Of a layer that has a relu if it has dropout. What was kept nowhere is made again.
  virtual void conv2d_layer_backward(const Conv2dLayerBackward& layer);

  // --- pooling; x (n, h, w, c) -> out (n, oh, ow, c)
  /// `argmax` has out's shape and holds the index within the window (row-major; first maximum wins): u8 when
  /// the window has at most 256 elements, else i32. Padding never wins.
  virtual void max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                          const Pool2dParams& params) = 0;
  virtual void max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                   const Pool2dParams& params) = 0;
  /// Padding does not count in the average.
  virtual void average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) = 0;
  virtual void average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                       const Pool2dParams& params) = 0;

  // --- softmax and cross-entropy, over the last axis
  virtual void softmax(const Tensor& out, const Tensor& x) = 0;
  virtual void softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) = 0;
  virtual void log_softmax(const Tensor& out, const Tensor& x) = 0;
  virtual void log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) = 0;
  /// Row losses (n) and probabilities (n, k) of logits (n, k) and class labels i32 (n), by log-sum-exp.
  /// Target of class j: (j == label) * (1 - smoothing) + smoothing / k. Of logits in bf16 both are f32.
  virtual void softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities, const Tensor& logits,
                                     const Tensor& labels, double smoothing) = 0;
  /// grad_logits = (probabilities - target) * grad_losses (n), which may be a view.
  virtual void softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                              const Tensor& probabilities, const Tensor& labels,
                                              double smoothing) = 0;

  // --- dropout
  /// out = mask(params, sample, element) * x / (1 - rate). `sample_keys` is i64 (n, 2): global sample index
  /// and epoch of each row of x. The backward pass is this same kernel applied to the gradient. out may be x.
  virtual void dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                       const DropoutParams& params) = 0;

  // --- batch normalisation over the last axis c; all other axes are samples
  /// Batch mean (c) and biased variance (c) of x; both 0 for an empty batch.
  virtual void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) = 0;
  /// out = (x - mean) / sqrt(variance + epsilon) * gamma + beta; gamma and beta optional.
  virtual void batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                          const Tensor& gamma, const Tensor& beta, BatchNormParams params) = 0;
  /// Gradient through the batch statistics. grad_gamma and grad_beta optional. grad_x may be grad_out.
  virtual void batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                   const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                   const Tensor& variance, const Tensor& gamma, BatchNormParams params) = 0;
  /// The activation of batch_norm's result.
  virtual void batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean,
                                     const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                     BatchNormParams params, UnaryStage activation);
  /// Gradient through both. What the activation got is made again of x.
  virtual void batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                              const Tensor& grad_beta, const Tensor& grad_out,
                                              const Tensor& x, const Tensor& mean, const Tensor& variance,
                                              const Tensor& gamma, const Tensor& beta, BatchNormParams params,
                                              UnaryStage activation);
  /// The end of a residual block: norm.activation, a relu or nothing, of batch_norm's result + addend.
  virtual void batch_norm_add(const Tensor& out, const Tensor& x, const NormStage& norm,
                              const Tensor& addend);
  /// Gradient through a batch_norm_add with a relu that gave `out`: grad_addend is that in front of the relu,
  /// for which it may be grad_out; the others are batch_norm_backward's of it.
  virtual void batch_norm_add_relu_backward(const NormGradients& grads, const Tensor& grad_addend,
                                            const Tensor& grad_out, const Tensor& out, const Tensor& x,
                                            const NormStage& norm);

  // --- layer normalisation of x (rows, k): each row by itself
  /// out = (x - mean) / sqrt(variance + epsilon) * gamma + beta; gamma (k) and beta (k) optional. Writes the
  /// mean (rows) and biased variance (rows) of each row, too.
  virtual void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                          const Tensor& gamma, const Tensor& beta, double epsilon);
  /// Gradient through mean and variance. grad_gamma (k) and grad_beta (k) optional.
  virtual void layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                   const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                   const Tensor& variance, const Tensor& gamma, double epsilon);

  // --- recurrent layers (ops.h), whose gates lie side by side; take no bf16
  // Gates i, f, c, o of an LSTM.
  /// states, memories (steps, n, units) and gates (steps, n, 4 * units), as the activations left them, of x
  /// (steps, n, 4 * units) and recurrent_kernel (units, 4 * units). Where `mask` (steps, n), optional, is 0
  /// and not 1, state and memory stay what they were, and the gates are 0. The gates of all steps may lie in
  /// one place (strides()[0] is 0), where those of the last one stay.
  virtual void lstm(const Tensor& states, const Tensor& memories, const Tensor& gates, const Tensor& x,
                    const Tensor& recurrent_kernel, const Tensor& mask, RecurrentParams params);
  /// grad_x of grad_states, the gradients of states that are results.
  virtual void lstm_backward(const Tensor& grad_x, const Tensor& grad_states, const Tensor& memories,
                             const Tensor& gates, const Tensor& recurrent_kernel, const Tensor& mask,
                             RecurrentParams params);
  // Gates z, r, h of a GRU, and a fourth part, state * recurrent_kernel + recurrent_bias of h.
  /// states (steps, n, units) and gates (steps, n, 4 * units) of x (steps, n, 3 * units), recurrent_kernel
  /// (units, 3 * units) and recurrent_bias (3 * units), optional; mask and room for the gates as lstm's.
  virtual void gru(const Tensor& states, const Tensor& gates, const Tensor& x, const Tensor& recurrent_kernel,
                   const Tensor& recurrent_bias, const Tensor& mask, RecurrentParams params);
  /// grad_x, and that of state * recurrent_kernel + recurrent_bias, grad_products (steps, n, 3 * units).
  virtual void gru_backward(const Tensor& grad_x, const Tensor& grad_products, const Tensor& grad_states,
                            const Tensor& states, const Tensor& gates, const Tensor& recurrent_kernel,
                            const Tensor& mask, RecurrentParams params);

  // --- optimizer steps, in place over flat buffers of equal length (formulas: each optimizer's header in nn)
  /// `velocity` is undefined without momentum.
  virtual void sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                        SgdParams params) = 0;
  /// `momentum` and `mean_gradient` are undefined when unused.
  virtual void rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity, const Tensor& momentum,
                            const Tensor& mean_gradient, StepParams step, RmspropParams params) = 0;
  /// `max_velocity` is defined for AMSGrad only.
  virtual void adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                         const Tensor& max_velocity, StepParams step, AdamParams params) = 0;
  virtual void adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                             const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) = 0;
  virtual void adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                            AdagradParams params) = 0;
};

/// Every backend of the CPU, best first; the oracle ("cpu") is last.
RONDE_API const std::vector<Backend*>& backends();
/// The one called `name`, "cuda" being cuda_backend(0) of cuda.h; an error that lists the names when there is
/// none.
RONDE_API Backend& backend(std::string_view name);
/// `$RONDE_BACKEND` if set, else the first of `backends()`.
RONDE_API Backend& default_backend();

/// How many threads each operation on the CPU may use, the calling one included: 1, until somebody says
/// otherwise. `init` and `run_main` do ($RONDE_THREADS, or this rank's share of the cores). They are Ronde's
/// own and sleep while there is nothing to do: OpenMP's number of threads changes nothing here, and this
/// changes nothing there.
RONDE_API int thread_count();
/// No operation may be running, unless there are so many already: parts of a program that know nothing of
/// each other may each ask for the same. A UsageError for less than 1.
RONDE_API void set_thread_count(int threads);

}  // namespace ronde::inline v0
