#include "cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

Staging::~Staging() {
  for (Slot& slot : slots_) {
    if (slot.used) wait_for(runtime_, slot.free);
    if (slot.free) runtime_.destroy_event(slot.free);
    if (slot.memory) runtime_.release_pinned(slot.memory);
  }
}

Staging::Slot& Staging::next_free() {
  Slot& slot = slots_[next_++ % kSlots];
  if (!slot.memory) check(runtime_.allocate_pinned(kSlotBytes, &slot.memory), "pinned memory for copies");
  if (!slot.free) check(runtime_.create_event(&slot.free), "an event for copies");
  if (slot.used) check(wait_for(runtime_, slot.free), "copying");
  slot.used = true;
  return slot;
}

void Staging::upload(void* device, const void* host, std::size_t bytes, Stream stream) {
  const std::lock_guard lock(mutex_);
  for (std::size_t done = 0; done < bytes; done += kSlotBytes) {
    const std::size_t piece = std::min(kSlotBytes, bytes - done);
    Slot& slot = next_free();
    std::memcpy(slot.memory, static_cast<const char*>(host) + done, piece);
    check(runtime_.copy(static_cast<char*>(device) + done, slot.memory, piece, CopyKind::to_device, stream),
          "copying to the device");
    check(runtime_.record(slot.free, stream), "copying to the device");
  }
}

void Staging::download(void* host, const void* device, std::size_t bytes, Stream stream) {
  const std::lock_guard lock(mutex_);
  for (std::size_t done = 0; done < bytes; done += kSlotBytes) {
    const std::size_t piece = std::min(kSlotBytes, bytes - done);
    Slot& slot = next_free();
    check(
        runtime_.copy(slot.memory, static_cast<const char*>(device) + done, piece, CopyKind::to_host, stream),
        "copying from the device");
    check(runtime_.record(slot.free, stream), "copying from the device");
    check(wait_for(runtime_, slot.free), "running");
    std::memcpy(static_cast<char*>(host) + done, slot.memory, piece);
  }
}

}  // namespace ronde::inline v0::cuda
