// Compiled with AVX-512 F, BW, DQ, VL and BF16.
#define RONDE_VECTOR_BYTES 64
#define RONDE_VECTOR_REGISTERS 32
#include "backend/onednn/kernels/tile_vectors.h"
// behind it, as its kernels call what that defines
#include "backend/onednn/kernels/tile_products.h"
#include "backend/onednn/kernels/tile_rounding.h"

namespace ronde::inline v0 {

const TileKernels kAvx512Bf16TileKernels{.to_bfloat16 = to_bfloat16_at_once, .product = tile_product};

}  // namespace ronde::inline v0
