#include "machine_speed/fma_loop.h"

namespace ronde::inline v0 {

FmaLoop* best_fma_loop() {
  return fma_loop_neon;
}

}  // namespace ronde::inline v0
