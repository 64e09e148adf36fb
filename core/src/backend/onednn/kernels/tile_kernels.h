/// TileKernels: our own products of bfloat16 as a table of functions, for processors that multiply tiles or
/// vectors of it.
#pragma once

#include <cstdint>

#include <ronde/core/kernel_params.h>

#include "backend/onednn/kernels/tile_shape.h"

namespace ronde::inline v0 {

struct ProductShape;

/// Where a product goes: as floats, or rounded to bfloat16. Elements from one row to the next.
struct TileResult {
  float* floats;
  std::uint16_t* halves;  ///< null: floats
  std::int64_t pitch;
};

/// As Kernels: single-threaded, no allocation, dense arrays. Operands are bfloat16, as the bits of one, where
/// they are not rounded to it here. A denormal number counts as 0.
struct TileKernels {
  /// out = epilogue(a * b + bias); shape.out_pitch is not looked at, k is at least 1, bias may be null.
  /// Scratch: kTileProductScratch floats.
  void (*product)(const TileResult& out, const std::uint16_t* a, const std::uint16_t* b,
                  const ProductShape& shape, const float* bias, Epilogue epilogue, float* scratch);

  // --- convolution of one image; null where Winograd's in float is no slower
  /// The image in its frame, of which the rest is 0 and stays so.
  void (*frame)(std::uint16_t* frame, const float* image, const TileConvShape& shape) = nullptr;
  /// `by_tap` (kh * kw * c, o)
  void (*conv_weights)(std::uint16_t* weights, const float* by_tap, const TileConvShape& shape) = nullptr;
  /// out = epilogue(conv + bias); bias may be null.
  void (*conv)(float* out, const std::uint16_t* frame, const std::uint16_t* weights, const float* bias,
               const TileConvShape& shape, Epilogue epilogue) = nullptr;
  /// `sums` and grad_bias (o, may be null) accumulate. Scratch: shape.gradient_scratch() bfloat16, 0 at
  /// first.
  void (*add_conv_gradient)(float* sums, float* grad_bias, const float* grad_out, const float* x,
                            const TileConvShape& shape, std::uint16_t* scratch) = nullptr;
  /// grad_weight (kh * kw * c, o) of such sums
  void (*conv_gradient)(float* grad_weight, const float* sums, const TileConvShape& shape) = nullptr;
};

extern const TileKernels kAvx512Bf16TileKernels;
extern const TileKernels kAmxTileKernels;

}  // namespace ronde::inline v0
