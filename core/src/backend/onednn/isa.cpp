#include "backend/onednn/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

namespace {

constexpr Isa kAll[] = {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

std::string all_names() {
  std::string names;
  for (const Isa isa : kAll) names += cat(names.empty() ? "" : ", ", name_of(isa));
  return names;
}

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      break;
    case Isa::neon:
      return "neon";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::amx:
      return "amx";
  }
  return "portable";
}

Isa best_isa() {
  return machine_isas().back();
}

Isa chosen_isa() {
  const char* wanted = std::getenv("RONDE_ISA");
  if (!wanted || !*wanted) return best_isa();
  for (const Isa isa : kAll) {
    if (std::string_view(wanted) != name_of(isa)) continue;
    const std::span<const Isa> has = machine_isas();
    require<UsageError>(std::find(has.begin(), has.end(), isa) != has.end(), "[isa] RONDE_ISA=", wanted,
                        ", but this machine has only ", name_of(best_isa()));
    return isa;
  }
  throw UsageError(cat("[isa] RONDE_ISA=", wanted, " is none of ", all_names()));
}

}  // namespace ronde::inline v0
