#pragma once

#include <cstdint>
#include <cstring>

namespace ronde::inline v0 {

/// memcpy that allows nothing to copy, from and to nowhere, and a buffer onto itself.
inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace ronde::inline v0
