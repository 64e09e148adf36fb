// What an x86-64 machine can run.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

namespace {

bool has_bfloat16_vectors() {
  constexpr unsigned kBfloat16 = 1u << 5;  // leaf 7.1, EAX: AVX512_BF16
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kBfloat16);
}

// Whether there are tiles, and Linux lets this process use them: it has to be asked once, as they make what
// it saves of a thread 8 KB larger.
bool takes_tiles() {
  constexpr unsigned kBfloat16 = 1u << 22, kTiles = 1u << 24;  // leaf 7, EDX
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kBfloat16) || !(d & kTiles)) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Isa find_best_isa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::portable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512) return Isa::avx2;
  if (!has_bfloat16_vectors()) return Isa::avx512;
  return takes_tiles() ? Isa::amx : Isa::avx512_bf16;
}

Kernels with_tiles(const TileKernels& tiles) {
  Kernels kernels = kAvx512Kernels;
  kernels.to_bfloat16 = tiles.to_bfloat16;
  kernels.tiles = &tiles;
  return kernels;
}

}  // namespace

std::span<const Isa> machine_isas() {
  static constexpr Isa kAll[] = {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};
  static const std::span<const Isa> found(kAll, std::find(kAll, std::end(kAll), find_best_isa()) + 1);
  return found;
}

const Kernels& kernels_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
    case Isa::neon:
      break;
    case Isa::avx2:
      return kAvx2Kernels;
    case Isa::avx512:
      return kAvx512Kernels;
    case Isa::avx512_bf16:
      static const Kernels with_vectors = with_tiles(kAvx512Bf16TileKernels);
      return with_vectors;
    case Isa::amx:
      static const Kernels with_amx = with_tiles(kAmxTileKernels);
      return with_amx;
  }
  return kPortableKernels;
}

}  // namespace ronde::inline v0
