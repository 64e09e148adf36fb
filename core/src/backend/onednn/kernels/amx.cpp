// Compiled with AVX-512 F, BW, DQ and VL; tiles by AMX.
#define RONDE_VECTOR_BYTES 64
#define RONDE_VECTOR_REGISTERS 32
#define RONDE_TILE_TABLE kAmxTileKernels
#include "backend/onednn/kernels/tiles_amx.h"
// behind it, as its kernels use what that defines
#include "backend/onednn/kernels/tile_loops.h"
