/// Fiber: a stack of its own on a thread of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ronde::test {

class Fiber {
 public:
  static constexpr std::size_t kStack = std::size_t{256} << 10;  ///< bytes, and what it is aligned to
  static constexpr std::size_t kKept = 64;                       ///< bytes of it for the work to keep

  /// `work` begins with the first `resume` and must not return.
  explicit Fiber(void (*work)());
  ~Fiber();

  /// Goes on with the work until that calls `pause`. Always on the same thread.
  void resume();
  void pause();

  /// Called by the work: what this fiber keeps for it, aligned to kKept. Found by the address of any of the
  /// stack's frames: a thread_local variable of a module would be found by a call.
  [[gnu::always_inline]] static void* kept() {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) &
                                   ~(kStack - 1));
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::test
