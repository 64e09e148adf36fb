// 64-bit ARM, where every processor has NEON.
#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

std::span<const Isa> machine_isas() {
  static constexpr Isa kAll[] = {Isa::portable, Isa::neon};
  return kAll;
}

const Kernels& kernels_of(Isa isa) {
  return isa == Isa::neon ? kNeonKernels : kPortableKernels;
}

}  // namespace ronde::inline v0
