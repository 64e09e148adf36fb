// A processor that has no kernels of its own here.
#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

std::span<const Isa> machine_isas() {
  static constexpr Isa kAll[] = {Isa::portable};
  return kAll;
}

const Kernels& kernels_of(Isa) {
  return kPortableKernels;
}

}  // namespace ronde::inline v0
