#include "backend/cpu/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include <ronde/core/error.h>
#include <ronde/core/whole_numbers.h>

#include "worker_number.h"

namespace ronde::inline v0 {

// Note [Far caches]: threads of one machine may have last level caches of their own, as those of AMD's
// processors and of virtual machines on them often do. What another thread has written is then read at a
// third of the speed (46 GB/s for 112 to 260, EPYC of family 26), however long ago it was. Scratch that
// threads take from one list in turn would wander between them from loop to loop.

// In front of every block. As large as the alignment, so that the block is aligned too.
struct alignas(CachingAllocator::kAlignment) CachingAllocator::Header {
  std::size_t size;           // its class
  std::uint64_t freed_after;  // so many allocations; of a free block
  int worker;                 // that it was made for
  bool is_cut;                // from a slab
  bool is_kept;               // when it comes back

  static Header* of(void* memory) { return static_cast<Header*>(memory) - 1; }
  /// Of one that is not cut from a slab.
  void free() noexcept {
    const std::size_t bytes = size + sizeof(Header);
    if (bytes >= kHugePage)
      free_huge(this, bytes);
    else
      std::free(this);
  }
};

namespace {

// More than any machine has; what is below can be rounded up without an overflow.
constexpr std::size_t kMostBytes = std::size_t{1} << 47;

// Eight classes between two powers of two: at most an eighth of a block is wasted.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= CachingAllocator::kAlignment) return CachingAllocator::kAlignment;
  const std::size_t step = std::max(std::bit_floor(bytes - 1) / 8, CachingAllocator::kAlignment);
  return round_up(bytes, step);
}

constexpr const char* kOutOfMemory = "[allocator] out of memory, bytes wanted: ";

std::size_t checked_class(std::size_t bytes) {
  require(bytes <= kMostBytes, kOutOfMemory, bytes);
  return size_class(bytes);
}

}  // namespace

CachingAllocator::~CachingAllocator() {
  release_free();
}

void* CachingAllocator::allocate(std::size_t bytes) {
  const std::size_t size = checked_class(bytes);
  const std::lock_guard lock(mutex_);
  ++allocations_;
  FreeBlocks& free = free_blocks(worker_number());
  if (void* memory = take_free(free, size)) return memory;
  std::vector<Header*>& blocks = free[size];
  blocks.reserve(blocks.capacity() + 1);  // room for this block to come back without an allocation
  return take_new(bytes);
}

CachingAllocator::FreeBlocks& CachingAllocator::free_blocks(int worker) {
  const auto number = static_cast<std::size_t>(worker);
  if (number >= free_.size()) free_.resize(number + 1);
  return free_[number];
}

void* CachingAllocator::allocate_once(std::size_t bytes) {
  if (checked_class(bytes) < kHugePage) return allocate(bytes);
  const std::lock_guard lock(mutex_);
  ++allocations_;
  release_from(kHugePage, 0);
  void* memory = take_new(bytes);
  Header::of(memory)->is_kept = false;
  return memory;
}

bool CachingAllocator::gives_zeros(std::size_t bytes) {
  return checked_class(bytes) >= kHugePage && huge_memory_is_zero();
}

void* CachingAllocator::take_new(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  if (size >= kHugePage) release_idle();
  void* memory = new_block(size);
  if (!memory) {
    release_free();
    memory = new_block(size);
  }
  require(memory != nullptr, kOutOfMemory, bytes);
  return memory;
}

void* CachingAllocator::new_block(std::size_t size) noexcept {
  const std::size_t bytes = size + sizeof(Header);
  const bool is_cut = HugeSlabs::takes(bytes);
  void* block = is_cut               ? slabs_.cut(bytes)
                : bytes >= kHugePage ? allocate_huge(bytes)
                                     : std::aligned_alloc(kAlignment, bytes);
  return block ? new (block) Header{size, 0, worker_number(), is_cut, true} + 1 : nullptr;
}

/// A free block of this size class or of one up to half as large again, the smallest there is; or nullptr.
void* CachingAllocator::take_free(FreeBlocks& free, std::size_t size) noexcept {
  for (auto it = free.lower_bound(size); it != free.end() && it->first <= size + size / 2; ++it) {
    if (it->second.empty()) continue;
    Header* block = it->second.back();
    it->second.pop_back();
    return block + 1;
  }
  return nullptr;
}

void CachingAllocator::deallocate(void* memory) noexcept {
  Header* block = Header::of(memory);
  if (!block->is_kept) return block->free();
  const std::lock_guard lock(mutex_);
  block->freed_after = allocations_;
  free_[static_cast<std::size_t>(block->worker)][block->size].push_back(block);
}

void CachingAllocator::release_free() noexcept {
  release_from(0, 0);
}

void CachingAllocator::release_idle() noexcept {
  release_from(kHugePage, kIdleAllocations);
}

/// Free blocks of at least `least` bytes that so many allocations have not wanted.
void CachingAllocator::release_from(std::size_t least, std::uint64_t idle) noexcept {
  for (FreeBlocks& free : free_)
    for (auto it = free.lower_bound(least); it != free.end(); ++it)
      std::erase_if(it->second, [&](Header* block) {
        if (block->is_cut || allocations_ - block->freed_after < idle) return false;
        block->free();
        return true;
      });
}

}  // namespace ronde::inline v0
