#include "backend_ops/tile_backend.h"

#include "backend/bf16/with_bfloat16.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/isa.h"
#include "backend_ops/model_tiles.h"

namespace ronde::test {

std::unique_ptr<Backend> make_tile_backend() {
  static const Kernels kernels = [] {
    Kernels with_model = kernels_of(chosen_isa());
    with_model.tiles = &kModelTileKernels;
    return with_model;
  }();
  return std::make_unique<WithBfloat16<OneDnnBackend>>(kernels, ConvAlgorithm::winograd);
}

bool has_tiles(const Backend& backend) {
  const auto* fast = dynamic_cast<const OneDnnBackend*>(&backend);
  return fast && fast->multiplies_bfloat16();
}

}  // namespace ronde::test
