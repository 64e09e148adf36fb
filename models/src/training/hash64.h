#pragma once

#include <cstddef>
#include <cstdint>

namespace ronde::inline v0 {

/// Of any bytes: a change of any one bit, or within any eight bytes at a multiple of eight, always changes
/// it.
std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed = 0);

}  // namespace ronde::inline v0
