// With sanitizers: every block comes from the system by itself.
#include <cstdlib>

#include <ronde/core/whole_numbers.h>

#include "backend/cpu/huge_slabs.h"

namespace ronde::inline v0 {

void* allocate_huge(std::size_t bytes) noexcept {
  return std::aligned_alloc(64, round_up<std::size_t>(bytes, 64));
}

bool huge_memory_is_zero() noexcept {
  return false;
}

void free_huge(void* memory, std::size_t) noexcept {
  std::free(memory);
}

void discard_pages(void*, std::size_t) noexcept {}

HugeSlabs::~HugeSlabs() = default;

bool HugeSlabs::takes(std::size_t) {
  return false;
}

void* HugeSlabs::cut(std::size_t) noexcept {
  return nullptr;
}

bool HugeSlabs::add_slab() noexcept {
  return false;
}

}  // namespace ronde::inline v0
