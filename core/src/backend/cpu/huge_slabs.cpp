#include "backend/cpu/huge_slabs.h"

#include <cstdint>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kSlab = 2 * kHugePage;
constexpr std::size_t kLeastBlock = std::size_t{16} << 10;

}  // namespace

void* allocate_huge(std::size_t bytes) noexcept {
  // Room for a beginning with a huge page; what lies before it, and behind the end, goes back.
  const std::size_t size = round_up(bytes, kHugePage), room = size + kHugePage;
  void* mapped = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(first) % kHugePage;
  if (before > 0) ::munmap(first, before);
  ::munmap(first + before + size, kHugePage - before);
  // Advice only: a kernel that has no huge pages to give changes nothing.
  ::madvise(first + before, bytes, MADV_HUGEPAGE);
  return first + before;
}

bool huge_memory_is_zero() noexcept {
  return true;
}

void free_huge(void* memory, std::size_t bytes) noexcept {
  ::munmap(memory, round_up(bytes, kHugePage));
}

void discard_pages(void* memory, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = round_up(address, page), end = (address + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

HugeSlabs::~HugeSlabs() {
  for (void* slab : slabs_) free_huge(slab, kSlab);
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
    free_huge(slab, kSlab);
    return false;
  }
  next_ = static_cast<std::byte*>(slab);
  left_ = kSlab;
  return true;
}

}  // namespace ronde::inline v0
