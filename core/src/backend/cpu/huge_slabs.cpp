#include "backend/cpu/huge_slabs.h"

#include <cstdlib>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kSlab = 2 * kHugePage;
constexpr std::size_t kLeastBlock = std::size_t{16} << 10;

}  // namespace

void* allocate_huge(std::size_t bytes) noexcept {
  void* memory = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
  // Advice only: a kernel that has no huge pages to give changes nothing.
  if (memory) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

HugeSlabs::~HugeSlabs() {
  for (void* slab : slabs_) std::free(slab);
}

bool HugeSlabs::takes(std::size_t bytes) {
  return bytes >= kLeastBlock && bytes < kHugePage;
}

void* HugeSlabs::cut(std::size_t bytes) noexcept {
  if (bytes > left_ && !add_slab()) return nullptr;
  left_ -= bytes;
  return std::exchange(next_, next_ + bytes);
}

bool HugeSlabs::add_slab() noexcept {
  void* slab = allocate_huge(kSlab);
  if (!slab) return false;
  try {
    slabs_.push_back(slab);
  } catch (const std::bad_alloc&) {
    std::free(slab);
    return false;
  }
  next_ = static_cast<std::byte*>(slab);
  left_ = kSlab;
  return true;
}

}  // namespace ronde::inline v0
