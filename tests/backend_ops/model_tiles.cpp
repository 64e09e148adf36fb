// The kernels made of tiles, by a model of AMX.
#define RONDE_VECTOR_BYTES 64
#define RONDE_VECTOR_REGISTERS 16
#define RONDE_TILE_TABLE kModelTileKernels
#include "backend_ops/model_tiles.h"
#include "backend_ops/tiles_model.h"
// behind it, as its kernels use what that defines
#include "backend/onednn/kernels/tile_loops.h"
