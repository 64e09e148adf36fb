/// Which calls may share a plan.
#pragma once

#include <string>

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

/// Bytes that are equal for calls of one pattern: kernel, dtypes, shapes, strides, alignment (up to 16 bytes)
/// and attributes of all operands, and the way of computing. Not the addresses.
std::string plan_key(const Call& call, const MathOptions& math);

}  // namespace ronde::inline v0::cuda
