/// CachingAllocator: host memory in blocks that are kept for a later request of about the same size, so that
/// a training step soon allocates nothing, and the smaller last batch of an epoch needs no blocks of its own.
/// Thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "backend/cpu/huge_slabs.h"

namespace ronde::inline v0 {

class CachingAllocator {
 public:
  static constexpr std::size_t kAlignment = 64;

  CachingAllocator() = default;
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  void* allocate(std::size_t bytes);
  void deallocate(void* memory) noexcept;

 private:
  void* new_block(std::size_t size) noexcept;
  void* take_free(std::size_t size) noexcept;
  void release_free() noexcept;

  std::mutex mutex_;
  HugeSlabs slabs_;
  std::map<std::size_t, std::vector<void*>> free_;  // by size class
};

}  // namespace ronde::inline v0
