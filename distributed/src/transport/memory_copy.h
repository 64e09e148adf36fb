#pragma once

#include <cstdint>
#include <cstring>

namespace ronde::inline v0 {

/// `offset` bytes behind `base`.
inline char* byte_at(void* base, std::int64_t offset) {
  return static_cast<char*>(base) + offset;
}
inline const char* byte_at(const void* base, std::int64_t offset) {
  return static_cast<const char*>(base) + offset;
}

/// memcpy that allows nothing to copy, from and to nowhere, and a buffer onto itself.
inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace ronde::inline v0
