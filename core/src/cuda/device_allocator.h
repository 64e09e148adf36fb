/// DeviceAllocator: device memory in blocks that are kept for a later request of about the same size.
///
/// Stream-ordered: a block that the host gives back may still be used by what the home stream was given
/// before; whoever gets it next uses it on that stream, so after that. Who uses it on another stream too
/// keeps it until the home stream waits for that.
///
/// A captured step keeps the blocks that it was captured with for itself: while a Pool is active in a thread,
/// all blocks that this thread asks for come from it. What it lacks it takes from the common ones for good,
/// and what these lack the device gives. A block goes back to where it came from. Thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/in_thread.h"
#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

class DeviceAllocator {
 public:
  static constexpr std::size_t kAlignment = 256;

  struct Statistics {
    std::size_t held = 0;      ///< bytes of the device
    std::size_t lent = 0;      ///< of them, those that somebody has
    std::size_t requests = 0;  ///< of the runtime: what a step should soon need none of
  };

  /// Blocks by size.
  using Pool = std::map<std::size_t, std::vector<void*>>;

  DeviceAllocator(Runtime& runtime, Stream home);
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  /// nullptr for 0 bytes.
  void* allocate(std::size_t bytes);
  void deallocate(void* memory) noexcept;

  /// Gives the pool's blocks to the common one. None may be lent.
  void dissolve(Pool& pool);

  Statistics statistics() const;

 private:
  struct Block {
    std::size_t size;
    Pool* pool;
  };

  Pool& active();
  void* take(Pool& pool, std::size_t size);
  void* adopt(Pool& pool, std::size_t size);
  void* request(Pool& pool, std::size_t size);
  bool release_free();

  mutable std::mutex mutex_;
  Runtime& runtime_;
  Stream home_;
  Pool common_;
  std::unordered_map<void*, Block> blocks_;
  Statistics statistics_;
};

/// A pool is active in this thread while this lives; nullptr: the common one.
class ActivePool {
 public:
  ActivePool(const DeviceAllocator& allocator, DeviceAllocator::Pool* pool)
      : pool_(pool), own_(&allocator, InThread::Kind::pool, &pool_) {}

 private:
  DeviceAllocator::Pool* pool_;
  InThread own_;
};

}  // namespace ronde::inline v0::cuda
