/// Attributes of the kernels that a Backend offers: plain data, so that a traced call can be stored.
#pragma once

#include <cstdint>
#include <limits>

#include <ronde/core/picture_steps.h>

namespace ronde::inline v0 {

/// A (height, width) pair.
struct Size2d {
  std::int64_t h = 1;
  std::int64_t w = 1;
  bool operator==(const Size2d&) const = default;
};

/// Rows or columns of zeros (or of -inf for max-pooling) around an image.
struct Padding2d {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool operator==(const Padding2d&) const = default;
};

/// Elementwise functions of one tensor. `UnaryParams` says what alpha and beta mean.
enum class UnaryOp {
  affine,      ///< alpha * x + beta
  relu,        ///< max(x, 0)
  leaky_relu,  ///< x if x > 0 else alpha * x
  elu,         ///< x if x > 0 else alpha * (exp(x) - 1)
  gelu,        ///< x * Phi(x), by erf
  silu,        ///< x * sigmoid(x)
  sigmoid,
  tanh,
  exp,
  log,
  sqrt,
  square,
  abs,
  power,         ///< x^alpha
  clamp,         ///< min(max(x, alpha), beta)
  clipped_relu,  ///< min(max(x, 0), alpha); at its limits it passes no gradient on, as TensorFlow's relu6
  softplus,      ///< log(1 + exp(x))
  sin,
  cos,
};

struct UnaryParams {
  double alpha = 1.0;
  double beta = 0.0;
};

/// An elementwise function behind another operation; the default one changes nothing.
struct UnaryStage {
  UnaryOp op = UnaryOp::affine;
  UnaryParams params = {};

  bool changes_nothing() const { return op == UnaryOp::affine && params.alpha == 1.0 && params.beta == 0.0; }
  bool is_relu() const { return op == UnaryOp::relu || op == UnaryOp::clipped_relu; }
  /// The most that a relu gives.
  double highest() const {
    return op == UnaryOp::clipped_relu ? params.alpha : std::numeric_limits<double>::infinity();
  }
};

/// Elementwise functions of two tensors of the output's shape (broadcast views are allowed).
enum class BinaryOp {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  equal,
  greater,
  add_relu,  ///< max(a + b, 0)
};

enum class ReduceOp { sum, mean, max, min };

/// Backwards, the first step that a recurrent layer takes is the last one of its input, and its state is the
/// last one of its result.
struct RecurrentParams {
  bool backwards = false;
};

struct MatmulParams {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// What a dense layer or a convolution does to its result before writing it.
enum class Epilogue { none, relu };

/// What a kernel may multiply of f32 tensors: `rounded` if they hold what was bf16, so that rounding operands
/// to it is no loss. As wide as the other parameters: all of them together are a key, without padding.
enum class Products : std::int64_t { precise, rounded };

struct Conv2dParams {
  Size2d stride{1, 1};
  Padding2d padding{};
  Size2d dilation{1, 1};
  std::int64_t groups = 1;
  Products products = Products::precise;
};

struct Pool2dParams {
  Size2d window{2, 2};
  Size2d stride{2, 2};
  Padding2d padding{};
};

/// Which bits a dropout mask is made of: Philox keyed by (seed, op), counted by (sample, epoch, element).
struct DropoutParams {
  double rate = 0.5;       ///< fraction dropped; what stays is scaled by 1 / (1 - rate)
  std::uint64_t seed = 0;  ///< of the run
  std::uint64_t op = 0;    ///< of the layer or call site
};

struct PictureParams {
  double scale = 1.0, offset = 0.0;  ///< of what a table stores
  PictureSteps steps = {};
};

struct BatchNormParams {
  double epsilon = 1e-3;
};

// One optimizer step over flat buffers. The gradient used is clip(grad_scale * g, clip_value).

struct StepParams {
  double learning_rate = 0.001;
  double grad_scale = 1.0;    ///< 1 / number of samples, with the factor of a norm clip folded in
  double clip_value = 0.0;    ///< 0: none
  double weight_decay = 0.0;  ///< decoupled: w -= learning_rate * weight_decay * w before the update
};

struct SgdParams {
  double momentum = 0.0;
  bool nesterov = false;
};

struct RmspropParams {
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  bool epsilon_inside_sqrt = true;
};

struct AdamParams {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double bias_correction = 1.0;  ///< sqrt(1 - beta_2^t) / (1 - beta_1^t)
};

struct AdadeltaParams {
  double rho = 0.95;
  double epsilon = 1e-7;
};

struct AdagradParams {
  double epsilon = 1e-7;
};

}  // namespace ronde::inline v0
