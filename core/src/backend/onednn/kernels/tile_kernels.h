/// TileKernels: our own products of bfloat16, and of floats that are split into it, as a table of functions,
/// for processors that multiply tiles or vectors of it.
#pragma once

#include <cstdint>

#include <ronde/core/kernel_params.h>

#include "backend/onednn/kernels/tile_shape.h"

namespace ronde::inline v0 {

struct PoolShape;
struct ProductShape;

/// Where a product goes: as floats, or rounded to bfloat16. Elements from one row to the next.
struct TileResult {
  float* floats;
  std::uint16_t* halves;  ///< null: floats
  std::int64_t pitch;
};

/// Where the results of a convolution go: as floats, or rounded to bfloat16. places[p] is the element at which
/// the channels of pixel p of the frame begin; a pixel that is thrown away has the place of the next one that
/// is not. With `passing` only results pass that have a positive value there, others are 0.
struct TileConvResult {
  float* floats;
  std::uint16_t* halves;  ///< null: floats
  const std::int32_t* places;
  const std::uint16_t* passing = nullptr;
  const std::int32_t* passing_places = nullptr;
};

/// The gradient of an image's result, times `scale` where y > 0; everything if y is null.
struct TileGradient {
  const std::uint16_t *grad, *y;
  const std::uint8_t* argmax;  ///< of the pooling, if there is one
  float scale;
};

/// Of the gradient of filters: x in its frame, and the result's gradient, whose channels for pixel p of that
/// frame begin at places[p]; there are zeros at `zero`.
struct TileGradientOperands {
  const std::uint16_t *x_frame, *gradient;
  const std::int32_t* places;
  std::int32_t zero;
};

/// As Kernels: single-threaded, no allocation, dense arrays. Operands are bfloat16, as the bits of one, where
/// they are not rounded to it here. A denormal number counts as 0.
struct TileKernels {
  /// As Kernels::to_bfloat16, bit for bit, which it takes the place of.
  void (*to_bfloat16)(std::uint16_t* y, const float* x, std::int64_t n);
  /// out = epilogue(a * b + bias); shape.out_pitch is not looked at, k is at least 1, bias may be null.
  /// Scratch: kTileProductScratch floats.
  void (*product)(const TileResult& out, const std::uint16_t* a, const std::uint16_t* b,
                  const ProductShape& shape, const float* bias, Epilogue epilogue, float* scratch);

  /// As Kernels::product, and n may be any: Note [Floats in parts] in tile_float_products.h; null where
  /// vectors are faster. Scratch: kFloatTileScratch floats.
  void (*float_product)(float* out, const float* a, const float* b, const ProductShape& shape,
                        float* scratch) = nullptr;

  // --- convolution; null where Winograd's in float is no slower
  /// An image in its frame, of which the rest is 0 and stays so.
  void (*frame)(std::uint16_t* frame, const std::uint16_t* image, const TileConvShape& shape) = nullptr;
  /// Column tiles [begin, end) of the filters `weight`, (o, kh * kw * c); or turned round, for the gradient of
  /// the image, of (c, kh * kw * o).
  void (*conv_weights)(std::uint16_t* tiles, const std::uint16_t* weight, const TileConvShape& shape,
                       bool is_turned, std::int64_t begin, std::int64_t end) = nullptr;
  /// epilogue(conv + bias); bias may be null.
  void (*conv)(const TileConvResult& to, const std::uint16_t* frame, const std::uint16_t* weights,
               const float* bias, const TileConvShape& shape, Epilogue epilogue) = nullptr;
  /// The gradient of an image's result in a frame: of the whole result, or of what was pooled behind it.
  /// bias_sums (c, may be null) accumulates.
  void (*frame_gradient)(std::uint16_t* frame, float* bias_sums, const TileGradient& gradient,
                         const ImageShape& shape, PixelPlaces places) = nullptr;
  void (*frame_pooled_gradient)(std::uint16_t* frame, float* bias_sums, const TileGradient& gradient,
                                const PoolShape& pool, PixelPlaces places) = nullptr;
  /// `sums` accumulates. Scratch: shape.gradient_scratch() bfloat16.
  void (*add_conv_gradient)(float* sums, const TileGradientOperands& operands, const TileConvShape& shape,
                            std::uint16_t* scratch) = nullptr;
  /// grad_weight (o, kh * kw * c) of such sums: filters of column tiles [begin, end).
  void (*conv_gradient)(float* grad_weight, const float* sums, const TileConvShape& shape, std::int64_t begin,
                        std::int64_t end) = nullptr;
};

extern const TileKernels kAvx512Bf16TileKernels;
extern const TileKernels kAmxTileKernels;

}  // namespace ronde::inline v0
