#include "backend/cpu/cpu_backend.h"

#include <cstring>

#include "backend/cpu/huge_slabs.h"

namespace ronde::inline v0 {

CpuBackend::CpuBackend() : threads_(1) {}

void* CpuBackend::allocate(std::size_t bytes) {
  return allocator_.allocate(bytes);
}

void* CpuBackend::allocate_once(std::size_t bytes) {
  return allocator_.allocate_once(bytes);
}

bool CpuBackend::gives_zeros(std::size_t bytes) const {
  return CachingAllocator::gives_zeros(bytes);
}

void CpuBackend::deallocate(void* memory, std::size_t) noexcept {
  allocator_.deallocate(memory);
}

void CpuBackend::discard(void* memory, std::size_t bytes) noexcept {
  discard_pages(memory, bytes);
}

void CpuBackend::copy_from_host(void* destination, const void* source, std::size_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, bytes);
}

void CpuBackend::copy_to_host(void* destination, const void* source, std::size_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, bytes);
}

}  // namespace ronde::inline v0
