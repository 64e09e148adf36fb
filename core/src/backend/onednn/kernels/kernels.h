/// Kernels: our own f32 loops as a table of functions, one table per instruction set.
///
/// The same sources (`*_loops.h`) are compiled once per table with other compiler flags. They may use nothing
/// but built-in types: an inline function of the standard library compiled for AVX-512 could be the copy that
/// the linker keeps for everybody. All functions are single-threaded, allocate nothing and take dense arrays.
#pragma once

#include <cstdint>

#include <ronde/core/kernel_params.h>

#include "backend/onednn/kernels/tile_kernels.h"
#include "backend/onednn/kernels/winograd_shape.h"

/// Before a loop whose steps do not depend on each other, even where its arrays are the same or overlap.
#if defined(__clang__)
#define RONDE_INDEPENDENT_STEPS _Pragma("clang loop vectorize(assume_safety)")
#else
#define RONDE_INDEPENDENT_STEPS _Pragma("GCC ivdep")
#endif

namespace ronde::inline v0 {

/// One image of a pooling layer: (h, w, c) -> (oh, ow, c).
struct PoolShape {
  std::int64_t h, w, c, oh, ow;
  std::int64_t window_h, window_w, stride_h, stride_w, top, left;
};

/// What relu and dropout behind a pooling let through backwards: where y > 0, times `scale`; everything if y
/// is null.
struct PassedOn {
  const float* y = nullptr;
  float scale = 1;
};

/// What a batch norm makes of x, by column: (x - center) * scale + shift. A relu behind it gives no less than
/// `least` and no more than `highest`; where there is none, they are infinite.
struct ColumnMap {
  const float *center, *scale, *shift;
  float least, highest;
};

/// What a layer norm makes of rows of as many values as gamma and beta have: Backend::layer_norm.
struct RowNorm {
  const float *gamma, *beta;
  float epsilon;
};
/// Where gradients go: that of x is written, those of gamma and beta add up, in float.
struct RowNormGradients {
  float *x, *gamma, *beta;
};

/// What comes of a max pooling with windows of 2x2 that do not overlap.
struct PooledOutput {
  float* out;
  std::uint8_t* argmax;
};

/// One image, already padded, of a convolution: (h, w, c) -> (oh, ow, o).
struct ConvShape {
  std::int64_t h, w, c, oh, ow, o;
  std::int64_t kh, kw, stride_h, stride_w;
};

/// One image, or lines of it, of a convolution of each channel by a filter of its own: (h, w, c) -> (oh, ow,
/// c). What lies outside is 0; padding may be negative. The last two are the elements from one pixel and one
/// line of the result to the next.
struct DepthwiseShape {
  std::int64_t h, w, oh, ow, c;
  std::int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left;
  std::int64_t out_pixel, out_line;
};

/// out (m, n) = a (m, k) * b (k, n); a transposed operand lies as (k, m) or (n, k). Pitches are the elements
/// from one row in memory to the next.
struct ProductShape {
  std::int64_t m, n, k;
  std::int64_t out_pitch, a_pitch, b_pitch;
  bool transpose_a, transpose_b;
  bool is_packed = false;  ///< b lies as pack_columns left it
};
/// Rows of a, columns of b, and values of the inner dimension that go through the caches together.
constexpr std::int64_t kProductStrip = 48, kProductColumns = 256, kProductDepth = 128;
/// Rows that go through all of b before the next ones do: their part of the result stays in the second level
/// cache while the inner dimension goes by.
constexpr std::int64_t kProductRowsAtOnce = 10 * kProductStrip;
constexpr std::int64_t kProductScratch =
    kProductColumns * kProductDepth + kProductStrip * (kProductDepth + 16);

/// Rows of one step of an LSTM: states and memories have `units` values, x and gates 4 * units. `product` is
/// that of the states before and the recurrent kernel; its rows are `pitch` apart. Where `mask` has a 0,
/// state and memory are those before; null: it has none.
struct LstmStep {
  float *state, *memory, *gates;
  const float *x, *product, *state_before, *memory_before, *mask = nullptr;
  std::int64_t pitch = 0;
};
/// grad_x of such rows. The gradients of their states are the sum of three, `grad_state`, `grad_later` from
/// the product of the step behind, whose rows are `pitch` apart, and grad_direct, from there too, which
/// becomes that of state_before but for its product; so grad_memory that of memory_before.
struct LstmGradients {
  float *grad_x, *grad_memory, *grad_direct;
  const float *grad_state, *grad_later, *gates, *memory, *memory_before, *mask = nullptr;
  std::int64_t pitch = 0;
};
/// Rows of one step of a GRU: as LstmStep's, with x and products of 3 * units, to which `bias` is added, and
/// 4 * units of gates.
struct GruStep {
  float *state, *gates;
  const float *x, *product, *bias, *state_before, *mask = nullptr;
  std::int64_t pitch = 0;
};
/// grad_x of such rows, and that of products and bias; else as LstmGradients.
struct GruGradients {
  float *grad_x, *grad_product, *grad_direct;
  const float *grad_state, *grad_later, *gates, *state_before, *mask = nullptr;
  std::int64_t pitch = 0;
};

/// StepParams in float: clip is +inf when off, decay is learning_rate * weight_decay.
struct StepFactors {
  float learning_rate, grad_scale, clip, decay;
};

/// Of the values of a row: the largest, and the sum of e^(x - largest).
struct ExponentialSum {
  float largest;
  double total;
};
/// Of which softmax takes so many rows at a time, at most.
constexpr std::int64_t kSoftmaxRows = 256;

struct Kernels {
  // --- elementwise
  bool (*has_unary)(UnaryOp op, float alpha);
  void (*unary)(UnaryOp op, float* y, const float* x, std::int64_t n, float alpha, float beta);
  bool (*has_unary_backward)(UnaryOp op, float alpha);
  void (*unary_backward)(UnaryOp op, float* grad_x, const float* grad_y, const float* x, const float* y,
                         std::int64_t n, float alpha, float beta);
  void (*binary)(BinaryOp op, float* out, const float* a, const float* b, std::int64_t n);
  /// b has one element.
  void (*binary_scalar)(BinaryOp op, float* out, const float* a, float b, std::int64_t n);
  /// x += alpha * y
  void (*accumulate)(float* x, const float* y, float alpha, std::int64_t n);
  /// y (rows, c), row stride in elements: y = epilogue(y + bias); bias may be null.
  void (*bias_epilogue)(float* y, const float* bias, std::int64_t rows, std::int64_t c, std::int64_t stride,
                        Epilogue epilogue);

  // --- bfloat16, as the bits of one
  void (*to_bfloat16)(std::uint16_t* y, const float* x, std::int64_t n);
  void (*from_bfloat16)(float* y, const std::uint16_t* x, std::int64_t n);

  /// to (columns, rows) = from (rows, columns), whose rows are their pitches apart
  void (*copy_transposed)(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
                          std::int64_t rows, std::int64_t columns);

  // --- sums; float inside a block of rows, double beyond
  double (*sum)(const float* x, std::int64_t n);
  double (*sum_of_squares)(const float* x, std::int64_t n);
  /// sums (rows) = row sums of x (rows, k)
  void (*sum_rows)(double* sums, const float* x, std::int64_t rows, std::int64_t k);
  /// The largest of sign * x (n), n > 0; a NaN beats all others
  float (*largest)(const float* x, std::int64_t n, float sign);
  /// totals (c) += column sums of x (rows, c)
  void (*sum_columns)(double* totals, const float* x, std::int64_t rows, std::int64_t c);

  // --- batch normalisation; x (rows, c)
  /// sums (c) += column sums of x - origin, squares (c) += those of (x - origin)^2
  void (*sum_distances)(double* sums, double* squares, const float* x, const float* origin, std::int64_t rows,
                        std::int64_t c);
  /// Of n elements, whose columns come again after `width`: loops over short rows would be too short.
  /// `addend`, if there is one, is added in front of the relu.
  void (*map_columns)(float* out, const float* x, const float* addend, const ColumnMap& map, std::int64_t n,
                      std::int64_t width);
  /// sums (c) += column sums of g, products (c) += those of g * (x - center). Here and below g is the
  /// gradient behind the map's relu, which passes where least < map(x) < highest.
  void (*sum_gradients)(double* sums, double* products, const float* g, const float* x, const ColumnMap& map,
                        std::int64_t rows, std::int64_t c);
  /// The same of g where y > 0 and 0 elsewhere, which is written to `passed`; that may be g.
  void (*sum_passed_gradients)(double* sums, double* products, float* passed, const float* g, const float* y,
                               const float* x, const ColumnMap& map, std::int64_t rows, std::int64_t c);
  /// grad_x = scale * (g - mean_g - (x - center) * slope), by column, as those of map_columns
  void (*batch_norm_backward)(float* grad_x, const float* g, const float* x, const ColumnMap& map,
                              const float* mean_g, const float* slope, std::int64_t n, std::int64_t width);

  // --- layer normalisation; x (rows, k)
  void (*layer_norm)(float* out, float* mean, float* variance, const float* x, const RowNorm& norm,
                     std::int64_t rows, std::int64_t k);
  void (*layer_norm_backward)(const RowNormGradients& to, const float* g, const float* x, const float* mean,
                              const float* variance, const RowNorm& norm, std::int64_t rows, std::int64_t k);

  // --- softmax of rows of n values, which are to lie in the cache together; y may be x
  void (*softmax)(float* y, ExponentialSum* sums, const float* x, std::int64_t rows, std::int64_t n);
  void (*softmax_backward)(float* grad_x, const float* g, const float* y, std::int64_t rows, std::int64_t n);

  // --- pooling, one image
  /// Brings x into the cache by one straight pass.
  void (*fetch)(const float* x, std::int64_t n);
  void (*max_pool)(float* out, std::uint8_t* argmax, const float* x, const PoolShape& shape);
  /// Gradients of windows that overlap add up, those of relu and dropout passed on too.
  void (*max_pool_backward)(float* grad_x, const float* grad_out, const std::uint8_t* argmax,
                            const PoolShape& shape, PassedOn passed_on);
  void (*average_pool)(float* out, const float* x, const PoolShape& shape);
  void (*average_pool_backward)(float* grad_x, const float* grad_out, const PoolShape& shape);

  // --- convolution; o is at least `lanes`
  std::int64_t lanes;
  /// `weight` is (kh * kw * c, o); out = epilogue(conv + bias), bias may be null.
  void (*direct_conv)(float* out, const float* x, const float* weight, const float* bias,
                      const ConvShape& shape, Epilogue epilogue);
  /// grad_weight (kh * kw * c, o) and grad_bias (o, may be null) accumulate.
  void (*conv_backward_weight)(float* grad_weight, float* grad_bias, const float* grad_out, const float* x,
                               const ConvShape& shape);

  /// The same by fewer filters than `lanes`, (o, kh, kw, c) as they lie; kw * c is at least `lanes`.
  void (*few_filters_conv)(float* out, const float* x, const float* weight, const float* bias,
                           const ConvShape& shape, Epilogue epilogue);

  // --- convolution of each channel by itself; `weight` is (kh, kw, c), c at least `lanes`, bias may be null
  void (*depthwise_conv)(float* out, const float* x, const float* weight, const float* bias,
                         const DepthwiseShape& shape, Epilogue epilogue);
  /// grad_weight accumulates.
  void (*depthwise_backward_weight)(float* grad_weight, const float* grad_out, const float* x,
                                    const DepthwiseShape& shape);

  // --- convolution of several images by Winograd's algorithm; c and o are at least `lanes`
  /// Rows [begin, end) of u (point, depth, columns).
  void (*winograd_filters)(float* u, const float* weight, const WinogradFilters& filters, std::int64_t begin,
                           std::int64_t end);
  /// u (point, c, o) of a weight (3, 3, c, o); out = epilogue(conv + bias) of some tiles, bias may be null.
  /// Scratch as WinogradBlock.
  void (*winograd_conv)(float* out, const float* x, const float* u, const float* bias,
                        const WinogradShape& shape, TileRange tiles, float* scratch, Epilogue epilogue);
  /// The same of images with the pooling behind it, for even tiles, oh and ow.
  void (*winograd_conv_pool)(PooledOutput to, const float* x, const float* u, const float* bias,
                             const WinogradShape& shape, std::int64_t images, float* scratch,
                             Epilogue epilogue);
  /// The same, of few tiles and the weight itself, OHWI: Note [Few tiles] in winograd_few_tiles.h. Scratch as
  /// FewTiles.
  void (*winograd_conv_few)(float* out, const float* x, const float* weight, const float* bias,
                            const WinogradShape& shape, std::int64_t images, float* scratch,
                            Epilogue epilogue);
  void (*winograd_backward_input_few)(float* grad_x, const float* grad_out, const float* weight,
                                      const WinogradShape& shape, std::int64_t images, float* scratch);
  /// Scratch as FewGradientTiles.
  void (*winograd_backward_weight_few)(float* grad_weight, const float* grad_out, const float* x,
                                       const WinogradShape& shape, std::int64_t images, float* scratch);
  /// u (point, o, c)
  void (*winograd_backward_input)(float* grad_x, const float* grad_out, const float* u,
                                  const WinogradShape& shape, std::int64_t images, float* scratch);
  /// sums (point, c * o) and grad_bias (o, may be null) accumulate; grad_x, if not null, as
  /// winograd_backward_input's. Scratch as winograd_gradient_scratch.
  void (*winograd_backward)(float* sums, float* grad_bias, float* grad_x, const float* grad_out,
                            const float* x, const float* u, const WinogradShape& shape, std::int64_t images,
                            float* scratch);
  /// grad_weight (3, 3, count) of such sums
  void (*winograd_weight_gradient)(float* grad_weight, const float* sums, std::int64_t count, int tile);

  // --- matrix products; n is a multiple of `lanes`, at most one operand is transposed
  /// Scratch: kProductScratch elements.
  void (*product)(float* out, const float* a, const float* b, const ProductShape& shape, float* scratch);
  /// Writes the part of a packed b that begins with column `first`, a multiple of kProductColumns, and has as
  /// many columns.
  void (*pack_columns)(float* packed, const float* b, const ProductShape& shape, std::int64_t first);

  // --- one step of a recurrent layer
  void (*lstm_step)(const LstmStep& step, std::int64_t rows, std::int64_t units);
  void (*lstm_step_backward)(const LstmGradients& step, std::int64_t rows, std::int64_t units);
  void (*gru_step)(const GruStep& step, std::int64_t rows, std::int64_t units);
  void (*gru_step_backward)(const GruGradients& step, std::int64_t rows, std::int64_t units);

  // --- dropout of one sample
  /// Element e is kept when word e % 4 of sample_bits(key, sample, epoch, e / 4) is at least `threshold`.
  void (*dropout)(float* out, const float* x, std::int64_t n, std::uint64_t key, std::uint64_t sample,
                  std::uint64_t epoch, std::uint32_t threshold, float scale);

  // --- optimizer steps; a pointer to a state that is not used is null
  void (*sgd)(float* w, const float* g, float* velocity, std::int64_t n, StepFactors step, float momentum,
              bool nesterov);
  void (*rmsprop)(float* w, const float* g, float* velocity, float* momentum, float* mean_gradient,
                  std::int64_t n, StepFactors step, RmspropParams params);
  /// step.learning_rate has the bias correction in it.
  void (*adam)(float* w, const float* g, float* m, float* v, float* max_velocity, std::int64_t n,
               StepFactors step, AdamParams params);
  void (*adadelta)(float* w, const float* g, float* gradient, float* delta, std::int64_t n, StepFactors step,
                   AdadeltaParams params);
  void (*adagrad)(float* w, const float* g, float* accumulator, std::int64_t n, StepFactors step,
                  AdagradParams params);

  /// Products of bfloat16; null where the processor has nothing for it.
  const TileKernels* tiles = nullptr;
};

extern const Kernels kPortableKernels;
extern const Kernels kNeonKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

}  // namespace ronde::inline v0
