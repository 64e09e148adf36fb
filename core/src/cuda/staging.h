/// Staging: pinned host memory between tensors of the host and a device, a ring of slots.
///
/// `upload` returns when the source may change: its bytes are in a slot, whose copy runs when the stream
/// comes to it. `download` waits for the stream. Thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

class Staging {
 public:
  static constexpr std::size_t kSlots = 4;
  /// A whole batch of a small net; the ring keeps the copies of four in flight.
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

  explicit Staging(Runtime& runtime) : runtime_(runtime) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void upload(void* device, const void* host, std::size_t bytes, Stream stream);
  void download(void* host, const void* device, std::size_t bytes, Stream stream);

 private:
  struct Slot {
    void* memory = nullptr;
    Event free = nullptr;  ///< passed when the copy that the slot served last has run
    bool used = false;
  };

  Slot& next_free();

  std::mutex mutex_;
  Runtime& runtime_;
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace ronde::inline v0::cuda
