#include "backend_ops/variants.h"

#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/isa.h"
#include "backend_ops/model_tiles.h"

namespace ronde::test {

namespace {

std::unique_ptr<Backend> make(const Kernels& kernels, ConvAlgorithm conv = ConvAlgorithm::winograd) {
  return std::make_unique<OneDnnBackend>(kernels, conv);
}

const Kernels& kernels_with_model_tiles() {
  static const Kernels kernels = [] {
    Kernels with_model = kernels_of(best_isa());
    with_model.tiles = &kModelTileKernels;
    return with_model;
  }();
  return kernels;
}

}  // namespace

bool Variant::is_for(std::string_view suite) const {
  return suites.empty() || std::any_of(suites.begin(), suites.end(),
                                       [&](std::string_view begin) { return suite.starts_with(begin); });
}

std::vector<Variant> make_variants() {
  std::vector<Variant> variants;
  for (const Isa isa : machine_isas())
    variants.push_back({.name = name_of(isa),
                        .backend = make(kernels_of(isa)),
                        .is_between = isa != machine_isas().front() && isa != best_isa()});
  variants.push_back({"direct", make(kernels_of(best_isa()), ConvAlgorithm::direct), {"Conv2d"}});
  variants.push_back({"tiles", make(kernels_with_model_tiles()), {"Conv2d", "Mixed", "Matmul", "Dense"}});
  return variants;
}

}  // namespace ronde::test
