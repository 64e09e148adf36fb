/// HugeSlabs: huge pages, from which blocks smaller than one are cut.
///
/// The kernels' scratch is about as large as a second level cache. In small pages, chance decides how much of
/// it fits there (the caches' places go by physical addresses), and a transform touches more pages at a time
/// than the processor keeps translations for. Not thread safe.
#pragma once

#include <cstddef>
#include <vector>

namespace ronde::inline v0 {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Memory that begins with a huge page, in huge pages if the system has any; or nullptr.
void* allocate_huge(std::size_t bytes) noexcept;
/// Whether that memory is zeros.
bool huge_memory_is_zero() noexcept;
/// Gives it back to the system at once. (std::free may keep it for later.)
void free_huge(void* memory, std::size_t bytes) noexcept;

/// Gives back the pages that lie wholly in this memory, which stays usable: they are zero then.
void discard_pages(void* memory, std::size_t bytes) noexcept;

class HugeSlabs {
 public:
  HugeSlabs() = default;
  ~HugeSlabs();
  HugeSlabs(const HugeSlabs&) = delete;
  HugeSlabs& operator=(const HugeSlabs&) = delete;

  /// Whether blocks of this size are cut from slabs. Never with sanitizers, which could not tell one from its
  /// neighbour.
  static bool takes(std::size_t bytes);
  /// A multiple of 64 bytes, at a multiple of 64; it lives as long as this. nullptr if there is no memory.
  void* cut(std::size_t bytes) noexcept;

 private:
  bool add_slab() noexcept;

  std::vector<void*> slabs_;
  [[maybe_unused]] std::byte* next_ = nullptr;  // what is left of the last slab; not in no_huge_slabs.cpp
  [[maybe_unused]] std::size_t left_ = 0;
};

}  // namespace ronde::inline v0
