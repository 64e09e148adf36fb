#include "cuda/fake/device_memory.h"

#include <cstring>
#include <new>

#include <sys/mman.h>

namespace ronde::test {

namespace {

char* map_pages(std::size_t bytes, int protection) {
  void* pages = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(pages);
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t capacity)
    : capacity_(capacity),
      reserved_(2 * capacity),  // so that holes between blocks cost nothing
      addresses_(map_pages(reserved_, PROT_NONE)),
      bytes_(map_pages(reserved_, PROT_READ | PROT_WRITE)) {}

DeviceMemory::~DeviceMemory() {
  munmap(addresses_, reserved_);
  munmap(bytes_, reserved_);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (in_use_ + bytes > capacity_) return nullptr;
  std::size_t at = 0;  // the first hole that is large enough
  for (const auto& [offset, size] : blocks_) {
    if (offset - at >= bytes) break;
    at = offset + size;
  }
  if (at + bytes > reserved_) return nullptr;
  blocks_.emplace(at, bytes);
  in_use_ += bytes;
  std::memset(bytes_ + at, kPoison, bytes);
  return addresses_ + at;
}

std::size_t DeviceMemory::block_size(const void* memory) const {
  if (!is_address(memory)) return 0;
  const auto found = blocks_.find(static_cast<std::size_t>(static_cast<const char*>(memory) - addresses_));
  return found == blocks_.end() ? 0 : found->second;
}

bool DeviceMemory::release(void* memory) {
  const std::size_t bytes = block_size(memory);
  if (bytes == 0) return false;
  in_use_ -= bytes;
  blocks_.erase(static_cast<std::size_t>(static_cast<char*>(memory) - addresses_));
  return true;
}

bool DeviceMemory::contains(const void* memory, std::size_t bytes) const {
  if (!is_address(memory)) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(memory) - addresses_);
  auto block = blocks_.upper_bound(offset);
  if (block == blocks_.begin()) return false;
  --block;
  return offset + bytes <= block->first + block->second;
}

bool DeviceMemory::is_address(const void* memory) const {
  const char* address = static_cast<const char*>(memory);
  return address >= addresses_ && address < addresses_ + reserved_;
}

void* DeviceMemory::behind(const void* memory) const {
  return bytes_ + (static_cast<const char*>(memory) - addresses_);
}

}  // namespace ronde::test
