#include "cuda/device_allocator.h"

#include <algorithm>
#include <bit>

#include <ronde/core/whole_numbers.h>

#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 47;  // can be rounded up without an overflow

// Eight classes between two powers of two: at most an eighth of a block is wasted.
std::size_t size_class(std::size_t bytes) {
  const std::size_t step = std::max(std::bit_floor(bytes - 1) / 8, DeviceAllocator::kAlignment);
  return round_up(bytes, step);
}

// For one more block to come back without an allocation.
void make_room(DeviceAllocator::Pool& pool, std::size_t size) {
  pool[size].reserve(pool[size].capacity() + 1);
}

}  // namespace

DeviceAllocator::DeviceAllocator(Runtime& runtime, Stream home) : runtime_(runtime), home_(home) {}

DeviceAllocator::~DeviceAllocator() {
  release_free();
}

void* DeviceAllocator::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  require(bytes <= kMostBytes, "[cuda] out of memory, bytes wanted: ", bytes);
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  Pool& pool = active();
  void* memory = take(pool, size);
  if (!memory && &pool != &common_) memory = adopt(pool, size);
  if (!memory) memory = request(pool, size);
  statistics_.lent += blocks_.at(memory).size;
  return memory;
}

DeviceAllocator::Pool& DeviceAllocator::active() {
  const InThread* own = InThread::find(this, InThread::Kind::pool);
  Pool* pool = own ? *static_cast<Pool* const*>(own->value()) : nullptr;
  return pool ? *pool : common_;
}

/// A free block of this class or of one up to half as large again, the smallest there is; or nullptr.
void* DeviceAllocator::take(Pool& pool, std::size_t size) {
  for (auto it = pool.lower_bound(size); it != pool.end() && it->first <= size + size / 2; ++it) {
    if (it->second.empty()) continue;
    void* memory = it->second.back();
    it->second.pop_back();
    return memory;
  }
  return nullptr;
}

// Else each of many trainings would ask the device for what the one before has left behind.
void* DeviceAllocator::adopt(Pool& pool, std::size_t size) {
  void* memory = take(common_, size);
  if (!memory) return nullptr;
  Block& block = blocks_.at(memory);
  make_room(pool, block.size);
  block.pool = &pool;
  return memory;
}

void* DeviceAllocator::request(Pool& pool, std::size_t size) {
  void* memory = nullptr;
  Status status = runtime_.allocate(size, &memory);
  if (status.outcome == Outcome::out_of_memory && release_free()) status = runtime_.allocate(size, &memory);
  require(status.ok(), "[cuda] out of memory, bytes wanted: ", size, "; held: ", statistics_.held,
          ", in use: ", statistics_.lent, ", of ", runtime_.facts().memory, ": ", status.text);
  ++statistics_.requests;
  statistics_.held += size;
  blocks_.emplace(memory, Block{size, &pool});
  make_room(pool, size);
  return memory;
}

void DeviceAllocator::deallocate(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  const Block& block = blocks_.at(memory);
  statistics_.lent -= block.size;
  runtime_.discard(memory, block.size, home_);
  (*block.pool)[block.size].push_back(memory);
}

/// Whether there was any. The device must be done with what it gets back.
bool DeviceAllocator::release_free() {
  if (!wait_for(runtime_, home_).ok()) return false;
  bool any = false;
  for (auto& [size, free] : common_) {
    for (; !free.empty(); free.pop_back()) {
      if (!runtime_.release(free.back()).ok()) return any;
      blocks_.erase(free.back());
      statistics_.held -= size;
      any = true;
    }
  }
  return any;
}

void DeviceAllocator::dissolve(Pool& pool) {
  const std::lock_guard lock(mutex_);
  for (auto& [memory, block] : blocks_) {
    if (block.pool != &pool) continue;
    make_room(common_, block.size);
    block.pool = &common_;
  }
  for (auto& [size, free] : pool) {
    std::vector<void*>& blocks = common_[size];
    blocks.insert(blocks.end(), free.begin(), free.end());
  }
  pool.clear();
}

DeviceAllocator::Statistics DeviceAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace ronde::inline v0::cuda
