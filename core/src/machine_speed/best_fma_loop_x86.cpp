#include "machine_speed/fma_loop.h"

namespace ronde::inline v0 {

FmaLoop* best_fma_loop() {
  if (__builtin_cpu_supports("avx512f")) return fma_loop_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_loop_avx2;
  return fma_loop_portable;
}

}  // namespace ronde::inline v0
