/// Differentiable operations on variables. Each checks its shapes (an error names the operation and carries
/// both values), computes with the backend of its first input, and records its gradient. Axes may be
/// negative. A Tensor converts to a constant Variable, so tensors can be passed anywhere.
///
/// Inputs have one dtype. Mixed precision: weights and biases (of conv2d, conv2d_transpose, dense,
/// batch_norm) may be f32 where x is bf16. Weights are then rounded to bf16 for the products, and a
/// convolution's bias with them; sums are made in f32, and the gradients of the weights are f32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ronde/core/kernel_params.h>
#include <ronde/core/sum_over_ranks.h>
#include <ronde/core/variable.h>

namespace ronde::inline v0 {

// --- elementwise, NumPy broadcasting
RONDE_API Variable operator+(const Variable& a, const Variable& b);
RONDE_API Variable operator-(const Variable& a, const Variable& b);
RONDE_API Variable operator*(const Variable& a, const Variable& b);
RONDE_API Variable operator/(const Variable& a, const Variable& b);
RONDE_API Variable operator+(const Variable& a, double b);
RONDE_API Variable operator-(const Variable& a, double b);
RONDE_API Variable operator*(const Variable& a, double b);
RONDE_API Variable operator/(const Variable& a, double b);
RONDE_API Variable operator+(double a, const Variable& b);
RONDE_API Variable operator-(double a, const Variable& b);
RONDE_API Variable operator*(double a, const Variable& b);
RONDE_API Variable operator/(double a, const Variable& b);
RONDE_API Variable operator-(const Variable& x);
RONDE_API Variable maximum(const Variable& a, const Variable& b);
RONDE_API Variable minimum(const Variable& a, const Variable& b);
RONDE_API Variable exp(const Variable& x);
RONDE_API Variable log(const Variable& x);
RONDE_API Variable sqrt(const Variable& x);
RONDE_API Variable square(const Variable& x);
RONDE_API Variable abs(const Variable& x);
RONDE_API Variable pow(const Variable& x, double exponent);
RONDE_API Variable sin(const Variable& x);
RONDE_API Variable cos(const Variable& x);
RONDE_API Variable clamp(const Variable& x, double low, double high);

// --- activations
RONDE_API Variable relu(const Variable& x);
/// relu(a + b), in one pass over memory; NumPy broadcasting.
RONDE_API Variable add_relu(const Variable& a, const Variable& b);
/// min(max(x, 0), highest); 6 makes it a relu6. No gradient passes at the limits.
RONDE_API Variable clipped_relu(const Variable& x, double highest);
RONDE_API Variable leaky_relu(const Variable& x, double negative_slope = 0.3);
RONDE_API Variable elu(const Variable& x, double alpha = 1.0);
RONDE_API Variable gelu(const Variable& x);
RONDE_API Variable silu(const Variable& x);
RONDE_API Variable sigmoid(const Variable& x);
RONDE_API Variable tanh(const Variable& x);
/// log(1 + exp(x)), also where exp(x) overflows.
RONDE_API Variable softplus(const Variable& x);
/// x / (1 + |x|)
RONDE_API Variable softsign(const Variable& x);
/// 1.0507... elu(x, 1.6732...). Source: Klambauer et al., "Self-normalizing neural networks", 2017.
RONDE_API Variable selu(const Variable& x);
/// Over the last axis.
RONDE_API Variable softmax(const Variable& x);
RONDE_API Variable log_softmax(const Variable& x);
/// What `softmax` was applied to when `y` is its direct result, else an undefined variable. Lets a loss on
/// probabilities work on logits, as Keras does; remembered even while nothing is recorded.
RONDE_API Variable softmax_input(const Variable& y);
/// The same of `sigmoid`.
RONDE_API Variable sigmoid_input(const Variable& y);

// --- reductions; no axes = all of them
struct ReduceOptions {
  Shape axes{};
  bool keep_dims = false;
};
RONDE_API Variable sum(const Variable& x, ReduceOptions options = {});
RONDE_API Variable mean(const Variable& x, ReduceOptions options = {});
/// The gradient is shared equally by all elements that attain the extreme.
RONDE_API Variable max(const Variable& x, ReduceOptions options = {});
RONDE_API Variable min(const Variable& x, ReduceOptions options = {});
/// Mean of the squared distances from the mean: the sum is divided by the number of elements, as NumPy and
/// Keras do, not by one less.
RONDE_API Variable variance(const Variable& x, ReduceOptions options = {});
/// log(sum(exp(x))), also where exp(x) overflows.
RONDE_API Variable log_sum_exp(const Variable& x, ReduceOptions options = {});
/// Index of the largest element along the last axis, the first one of equals; x (..., k) -> i64 (...).
RONDE_API Tensor argmax(const Tensor& x);

// --- shape and type
/// The elements as another floating dtype; to bf16 rounded to nearest, ties to even.
RONDE_API Variable cast(const Variable& x, DType dtype);
RONDE_API Variable reshape(const Variable& x, const Shape& shape);
/// (n, steps, ...) -> (n * steps, ...), of at least three axes. The direct result of a softmax or a sigmoid
/// still is one.
RONDE_API Variable steps_as_batch(const Variable& x);
RONDE_API Variable permute(const Variable& x, const Shape& axes);
/// Elements begin .. end - 1 of `axis`. Many slices of one variable have one gradient together: each adds to
/// its own range of it.
RONDE_API Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end);
/// x cut into parts of these sizes along `axis`, which they must add up to; views of x.
RONDE_API std::vector<Variable> split(const Variable& x, const std::vector<std::int64_t>& sizes,
                                      int axis = 0);
RONDE_API Variable concat(const std::vector<Variable>& parts, int axis);
/// Parts of one shape, one after the other along a new axis.
RONDE_API Variable stack(const std::vector<Variable>& parts, int axis = 0);
/// The parts that `stack` would make x of: one for each index of `axis`, without that axis. The steps of
/// sequences (n, steps, ...) are unstack(x, 1), each (n, ...).
RONDE_API std::vector<Variable> unstack(const Variable& x, int axis = 0);
/// Several values of each sample as one: parts (n, ...) flattened, one behind the other, (n, total). How a
/// net with several inputs or outputs has them (Note [Several inputs and outputs] in nn/graph.h).
RONDE_API Variable join_rows(const std::vector<Variable>& parts);
/// The parts of `rows` (n, total), of these shapes without the batch: those themselves that it is the direct
/// result of joining, so that a softmax among them is still one to a loss; else cut out.
RONDE_API std::vector<Variable> split_rows(const Variable& rows, const std::vector<Shape>& shapes);
RONDE_API Variable broadcast_to(const Variable& x, const Shape& shape);

// --- matrix products
/// (m, k) x (k, n), or with one leading batch extent on both.
RONDE_API Variable matmul(const Variable& a, const Variable& b);
/// x (n, in) * weight (in, units) + bias (units); bias optional.
RONDE_API Variable dense(const Variable& x, const Variable& weight, const Variable& bias = {},
                         Epilogue epilogue = Epilogue::none);
/// What one call of dense and one of dropout get beside their input.
struct DenseCall {
  Variable weight, bias;
  Epilogue epilogue = Epilogue::none;
};
struct DropoutCall {
  Tensor sample_keys;
  DropoutParams params{};
};
/// dropout of dense: the same values as by two calls. With a relu in between less is computed, as the
/// gradient passes where the result is positive: no mask is drawn again, and one result is kept.
RONDE_API Variable dense_dropout(const Variable& x, const DenseCall& call, const DropoutCall& drop);

/// Row indices[...] of table (rows, d) for each index: i32 or i64 (n, ...) -> (n, ..., d). The gradient of
/// rows that no index names is zero.
RONDE_API Variable embedding(const Variable& table, const Tensor& indices);
/// Of each row x (..., k) the elements at its indices, as torch.gather and take_along_axis take them along
/// the last axis: indices i32 or i64 (..., m) -> (..., m), or one of each row, (...) -> (...). The gradient
/// of elements that no index names is zero. An index outside 0 ... k - 1 is an error.
RONDE_API Variable pick(const Variable& x, const Tensor& indices);
/// 1 at the place of each label, else 0: integers (...) -> f32 (..., classes). A label outside 0 ... classes
/// - 1 gets zeros.
RONDE_API Tensor one_hot(const Tensor& labels, std::int64_t classes);

// --- images, (n, h, w, c)
enum class Padding { valid, same };

/// Rows and columns around an image.
struct Margins2d {
  std::int64_t top = 0, bottom = 0;
  std::int64_t left = 0, right = 0;
};

struct Pool2dOptions {
  Size2d window{2, 2};
  std::optional<Size2d> stride{};  ///< defaults to the window
  Padding padding = Padding::valid;
};

struct Conv2dOptions {
  Size2d stride{1, 1};
  Padding padding = Padding::valid;
  Size2d dilation{1, 1};
  std::int64_t groups = 1;
  Epilogue epilogue = Epilogue::none;
  std::optional<Pool2dOptions> max_pool{};  ///< of the result, which is then not kept
  Margins2d margins{};                      ///< of zeros around x, which the padding is added to
};
/// Cross-correlation; weight is OHWI (filters, kh, kw, c / groups), bias (filters) optional. valid: floor((in
/// - k_eff) / s) + 1; same: ceil(in / s), the extra row or column of padding at the bottom or right (Keras).
RONDE_API Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias = {},
                          Conv2dOptions options = {});

/// What one call of conv2d gets.
struct Conv2dCall {
  Variable weight, bias;
  Conv2dOptions options{};
};
/// conv2d by `front`, conv2d by `conv`, dropout, one after the other; both others are optional. The same
/// values as by three calls, where the backend can in less time: a result in between is not kept, but made
/// again for the gradients.
RONDE_API Variable conv2d_layer(const Variable& x, const std::optional<Conv2dCall>& front,
                                const Conv2dCall& conv, const std::optional<DropoutCall>& drop);

struct Conv2dTransposeOptions {
  Size2d stride{1, 1};
  Padding padding = Padding::valid;
  Size2d dilation{1, 1};
  std::optional<Size2d> output_padding{};  ///< below the stride; not set: what makes the usual size
  Epilogue epilogue = Epilogue::none;
};
/// The gradient of a conv2d's input for a gradient x of its result, plus a bias: each element of x adds a
/// multiple of the kernel to the image. weight (c, kh, kw, filters), bias (filters) optional. Rows, of a
/// kernel that covers k = (kh - 1) * dilation + 1: valid (in - 1) * s + max(k, s), or (in - 1) * s + k +
/// output_padding; same in * s, or (in - 1) * s + k % 2 + output_padding (Keras).
RONDE_API Variable conv2d_transpose(const Variable& x, const Variable& weight, const Variable& bias = {},
                                    Conv2dTransposeOptions options = {});
/// Its rows and columns, for so many of x.
RONDE_API Size2d conv2d_transpose_size(Size2d in, Size2d kernel, const Conv2dTransposeOptions& options);

RONDE_API Variable max_pool2d(const Variable& x, Pool2dOptions options = {});
RONDE_API Variable average_pool2d(const Variable& x, Pool2dOptions options = {});
/// Mean over h and w: (n, h, w, c) -> (n, c).
RONDE_API Variable global_average_pool2d(const Variable& x);
RONDE_API Variable zero_pad2d(const Variable& x, Margins2d margins);

// --- regularisation and normalisation
/// Drops the fraction params.rate of the elements and scales the rest by 1 / (1 - rate).
/// `sample_keys` i64 (n, 2): global sample index and epoch of each row.
RONDE_API Variable dropout(const Variable& x, const Tensor& sample_keys, DropoutParams params);
/// What training-mode batch normalisation found: mean (c) and biased variance (c) of the batch, which has
/// `count` values of each channel.
struct BatchStatistics {
  Tensor mean, variance;
  std::int64_t count = 0;
};
/// Training mode: normalises by the batch's own statistics, which are returned in `statistics` (zeros for an
/// empty batch). gamma and beta (c) are optional. With `sum_over_ranks` the batches of all ranks count as
/// one: each rank calls it, with no rows too, and then backward; gamma's and beta's gradients are still those
/// of its own rows. The activation gives the values that it would give as an operation of its own (of bf16
/// before they are rounded), and its gradient keeps no tensor but x. An addend of x's shape, as the shortcut
/// of a residual block, is added in front of the activation, which then is a relu or nothing.
RONDE_API Variable batch_norm(const Variable& x, const Variable& gamma, const Variable& beta,
                              BatchStatistics& statistics, BatchNormParams params = {},
                              const SumOverRanks& sum_over_ranks = {}, UnaryStage activation = {},
                              const Variable& addend = {});
/// Inference mode: by given statistics, which are constants.
RONDE_API Variable batch_norm_inference(const Variable& x, const Variable& gamma, const Variable& beta,
                                        const BatchStatistics& statistics, BatchNormParams params = {},
                                        UnaryStage activation = {});
/// How many of the last axes a layer norm goes over.
struct LayerNormParams {
  int axes = 1;
  double epsilon = 1e-3;
};
/// (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the mean and biased variance over the last
/// axes, whose extents gamma and beta have, which are optional. Computed in f32 of bf16.
RONDE_API Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta,
                              LayerNormParams params = {});
struct GroupNormParams {
  std::int64_t groups = 32;
  double epsilon = 1e-3;
};
/// Of x (n, ..., c) the channels of each sample in groups of equally many side by side: (x - mean) /
/// sqrt(variance + epsilon) * gamma + beta, with the mean and biased variance of a group over all its
/// positions; gamma and beta (c) are optional. Computed in f32 of bf16.
RONDE_API Variable group_norm(const Variable& x, const Variable& gamma, const Variable& beta,
                              GroupNormParams params = {});
/// The states (steps, n, units) of an LSTM, which starts with zeros: x (steps, n, 4 * units) is the input
/// times its kernel plus the bias, recurrent_kernel (units, 4 * units), gates i, f, c, o side by side as in
/// Keras.
///     i, f, o = sigmoid(x + h recurrent_kernel), c = f c + i tanh(x + h recurrent_kernel), h = o tanh(c)
/// Where the mask f32 or f64 (steps, n), optional, is 0 and not 1, h and c stay what they were. Computed in
/// f32 of bf16.
RONDE_API Variable lstm(const Variable& x, const Variable& recurrent_kernel, const Tensor& mask = {},
                        RecurrentParams params = {});
/// The same of a GRU with gates z, r, h, x (steps, n, 3 * units), recurrent_kernel (units, 3 * units) and
/// recurrent_bias (3 * units), which may be undefined:
///     p = state recurrent_kernel + recurrent_bias, z, r = sigmoid(x + p), state = z state + (1 - z) tanh(x + r p)
RONDE_API Variable gru(const Variable& x, const Variable& recurrent_kernel,
                       const Variable& recurrent_bias = {}, const Tensor& mask = {},
                       RecurrentParams params = {});
/// What one call of batch_norm_inference gets.
struct BatchNormCall {
  Variable gamma, beta;
  BatchStatistics statistics;
  BatchNormParams params{};
  UnaryStage activation{};
};
/// batch_norm_inference by `norm` of conv2d by `conv`: the same values as by two calls, where no gradient is
/// wanted in less time.
RONDE_API Variable conv2d_norm(const Variable& x, const Conv2dCall& conv, const BatchNormCall& norm);

// --- losses: one value per row of the batch, (n)
/// Softmax and cross-entropy in one, by log-sum-exp; logits (n, k), labels i32 or i64 (n). Losses of logits
/// in bf16 are f32.
RONDE_API Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels,
                                         double label_smoothing = 0.0);
/// Targets are distributions (n, k). A class with a target of 0 adds nothing, also where its logit is -inf.
RONDE_API Variable softmax_cross_entropy_soft(const Variable& logits, const Variable& targets);
/// Mean of squared differences over all axes but the first.
RONDE_API Variable squared_error(const Variable& prediction, const Variable& target);

}  // namespace ronde::inline v0
