/// The instruction set that kernels use: the best one of this machine, or a lower one on demand.
#pragma once

#include <span>

#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

/// neon: ARM's, of 64 bits. avx512_bf16: AVX-512, and vectors of bf16 beside it; amx: tiles of it too.
enum class Isa { portable, neon, avx2, avx512, avx512_bf16, amx };

/// Those of this machine, of which each has what the ones before it have.
std::span<const Isa> machine_isas();
/// The last of them.
Isa best_isa();
/// `$RONDE_ISA` (a name of one) if set, else the best. A UsageError for any other value and for one that this
/// machine lacks.
Isa chosen_isa();
const char* name_of(Isa isa);
const Kernels& kernels_of(Isa isa);

}  // namespace ronde::inline v0
