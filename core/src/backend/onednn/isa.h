/// The instruction set that kernels use: the best one of this machine, or a lower one on demand.
#pragma once

#include <string_view>

#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

/// avx512_bf16: AVX-512, and vectors of bf16 beside it; amx: tiles of it too. Each has what is before it.
enum class Isa { portable, avx2, avx512, avx512_bf16, amx };

/// The best this machine has.
Isa best_isa();
/// `$RONDE_ISA` (portable, avx2, avx512, avx512_bf16, amx) if set, else the best. A UsageError for any other
/// value and for one that this machine lacks.
Isa chosen_isa();
const char* name_of(Isa isa);
const Kernels& kernels_of(Isa isa);

}  // namespace ronde::inline v0
