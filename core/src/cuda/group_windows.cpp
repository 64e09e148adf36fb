#include "cuda/group_windows.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

void* GroupWindows::allocate(Group group, std::size_t bytes) {
  if (!backend_.wants_windows() || backend_.is_capturing() || backend_.leaves_out()) return nullptr;
  const std::lock_guard lock(mutex_);
  give_back_released(group);
  void* memory = nullptr;
  if (!collectives_.allocate(bytes, &memory).ok()) return nullptr;
  windows_.push_back({memory});
  return memory;
}

Status GroupWindows::open(Group group, void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return collectives_.enroll_window(group, memory, bytes, &at(memory).handle);
}

void GroupWindows::release(Group group, void* memory) {
  const std::lock_guard lock(mutex_);
  at(memory).is_released = true;
  if (!group || std::uncaught_exceptions() == 0) give_back_released(group);
}

void GroupWindows::close(Group group) {
  const std::lock_guard lock(mutex_);
  for (Window& window : windows_)
    if (void* handle = std::exchange(window.handle, nullptr)) collectives_.withdraw(group, handle);
}

void GroupWindows::collect(Group group) {
  const std::lock_guard lock(mutex_);
  give_back_released(group);
}

GroupWindows::Window& GroupWindows::at(const void* memory) {
  return *std::find_if(windows_.begin(), windows_.end(),
                       [&](const Window& window) { return window.memory == memory; });
}

void GroupWindows::give_back_released(Group group) {
  const auto is_released = [](const Window& window) { return window.is_released; };
  if (std::none_of(windows_.begin(), windows_.end(), is_released)) return;
  // A lost device keeps what it has: who knows what still runs there.
  Runtime& runtime = backend_.runtime();
  const Turn turn(backend_.turns());
  if (!wait_for(runtime, stream_).ok() || !wait_for(runtime, backend_.stream()).ok()) return;
  std::erase_if(windows_, [&](Window& window) { return window.is_released && give_back(group, window); });
}

bool GroupWindows::give_back(Group group, Window& window) {
  if (window.handle && !collectives_.withdraw(group, window.handle).ok()) return false;
  window.handle = nullptr;
  return collectives_.release(window.memory).ok();
}

}  // namespace ronde::inline v0::cuda
