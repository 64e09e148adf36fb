#include "backend/cpu/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <sys/mman.h>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// More than any machine has; what is below can be rounded up without an overflow.
constexpr std::size_t kMostBytes = std::size_t{1} << 47;

// Eight classes between two powers of two: at most an eighth of a block is wasted.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= CachingAllocator::kAlignment) return CachingAllocator::kAlignment;
  const std::size_t step = std::max(std::bit_floor(bytes - 1) / 8, CachingAllocator::kAlignment);
  return (bytes + step - 1) / step * step;
}

void* system_allocate(std::size_t bytes) noexcept {
  const bool huge = bytes >= kHugePage;
  const std::size_t alignment = huge ? kHugePage : CachingAllocator::kAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  // Advice only: a kernel that has no huge pages to give changes nothing.
  if (memory && huge) madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

CachingAllocator::~CachingAllocator() {
  release_free();
}

void* CachingAllocator::allocate(std::size_t bytes) {
  const char* error = "[allocator] out of memory, bytes wanted: ";
  require(bytes <= kMostBytes, error, bytes);
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  std::vector<void*>& blocks = free_[size];
  if (!blocks.empty()) {
    void* memory = blocks.back();
    blocks.pop_back();
    return memory;
  }
  blocks.reserve(blocks.capacity() + 1);  // room for this block to come back without an allocation
  void* memory = system_allocate(size);
  if (!memory) {
    release_free();
    memory = system_allocate(size);
  }
  require(memory != nullptr, error, bytes);
  return memory;
}

void CachingAllocator::deallocate(void* memory, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  free_[size_class(bytes)].push_back(memory);
}

void CachingAllocator::release_free() noexcept {
  for (auto& [size, blocks] : free_) {
    for (void* memory : blocks) std::free(memory);
    blocks.clear();
  }
}

}  // namespace ronde::inline v0
