/// What a timeline shows of a collective.
#pragma once

#include <cstdint>

#include <ronde/core/trace.h>
#include <ronde/distributed/collective.h>

namespace ronde::inline v0 {

const char* traced_name(const Collective& call);
/// That this rank gives.
std::int64_t traced_bytes(const Collective& call);

}  // namespace ronde::inline v0
