// A processor that has no kernels of its own here.
#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

Isa best_isa() {
  return Isa::portable;
}

const Kernels& kernels_of(Isa) {
  return kPortableKernels;
}

}  // namespace ronde::inline v0
