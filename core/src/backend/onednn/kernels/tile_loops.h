/// Everything made of tiles. Included by one file per kind of tiles, which first defines RONDE_VECTOR_BYTES
/// (64), RONDE_VECTOR_REGISTERS and RONDE_TILE_TABLE (the name of its table) and includes its Tiles.
#pragma once

#include "backend/onednn/kernels/tile_registers.h"
// behind it, as both call what it defines
#include "backend/onednn/kernels/tile_convolutions.h"
#include "backend/onednn/kernels/tile_float_products.h"
#include "backend/onednn/kernels/tile_gradients.h"
#include "backend/onednn/kernels/tile_products.h"
#include "backend/onednn/kernels/tile_rounding.h"

namespace ronde::inline v0 {

const TileKernels RONDE_TILE_TABLE{
    .to_bfloat16 = to_bfloat16_at_once,
    .product = tile_product,
    .float_product = tile_float_product,
    .frame = tile_frame,
    .conv_weights = tile_conv_weights,
    .conv = tile_conv,
    .frame_gradient = tile_frame_gradient,
    .frame_pooled_gradient = tile_frame_pooled_gradient,
    .add_conv_gradient = add_tile_conv_gradient,
    .conv_gradient = tile_conv_gradient,
};

}  // namespace ronde::inline v0
