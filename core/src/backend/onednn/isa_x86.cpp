// What an x86-64 machine can run.
#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

Isa best_isa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::portable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : Isa::avx2;
}

const Kernels& kernels_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      break;
    case Isa::avx2:
      return kAvx2Kernels;
    case Isa::avx512:
      return kAvx512Kernels;
  }
  return kPortableKernels;
}

}  // namespace ronde::inline v0
