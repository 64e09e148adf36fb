/// CachingAllocator: host memory in blocks that are kept for a later request of about the same size, so that
/// a training step soon allocates nothing, and the smaller last batch of an epoch needs no blocks of its own.
/// Before it takes another large block from the system it gives back those that nothing has wanted for long,
/// as of the first values of weights or of a file that was read. Thread safe.
///
/// Each worker of a thread pool has blocks of its own, which it finds in the cache where it left them, and
/// all other threads together have theirs: Note [Far caches] in caching_allocator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "backend/cpu/huge_slabs.h"

namespace ronde::inline v0 {

class CachingAllocator {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// More than a step makes, of most nets.
  static constexpr std::uint64_t kIdleAllocations = 4096;

  CachingAllocator() = default;
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  void* allocate(std::size_t bytes);
  /// A large block is not kept when it comes back, and so seldom that the large ones that are free, scratch
  /// of a step, go back to the system first; a small one is as any other.
  void* allocate_once(std::size_t bytes);
  /// Whether a block of `allocate_once` is zeros: a large one that the system has just given.
  static bool gives_zeros(std::size_t bytes);
  void deallocate(void* memory) noexcept;

 private:
  struct Header;

  void* take_new(std::size_t bytes);
  void* new_block(std::size_t size) noexcept;
  using FreeBlocks = std::map<std::size_t, std::vector<Header*>>;  // by size class
  FreeBlocks& free_blocks(int worker);
  void* take_free(FreeBlocks& free, std::size_t size) noexcept;
  void release_free() noexcept;
  void release_idle() noexcept;
  void release_from(std::size_t least, std::uint64_t idle) noexcept;

  std::mutex mutex_;
  HugeSlabs slabs_;
  std::uint64_t allocations_ = 0;                   // so far
  // By the number of the worker. Where blocks begin, as those who look for leaks follow no other pointers.
  std::vector<FreeBlocks> free_;
};

}  // namespace ronde::inline v0
