/// The loops of kAmxTileKernels on a model of the processor's tiles.
#pragma once

#include "backend/onednn/kernels/tile_kernels.h"

namespace ronde::inline v0 {

extern const TileKernels kModelTileKernels;

}  // namespace ronde::inline v0
