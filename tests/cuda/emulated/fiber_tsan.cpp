// ThreadSanitizer takes each fiber for a thread, of which it has to be told.
#include "cuda/emulated/fiber.h"

#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

namespace ronde::test {

struct Fiber::State {
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  ucontext_t host{}, place{};
  void* host_of_tsan = nullptr;
  void* fiber_of_tsan = __tsan_create_fiber(0);
};

Fiber::Fiber(void (*work)()) : state_(std::make_unique<State>()) {
  getcontext(&state_->place);
  state_->place.uc_stack.ss_sp = state_->stack.get();
  state_->place.uc_stack.ss_size = kStack;
  makecontext(&state_->place, work, 0);
}

Fiber::~Fiber() {
  __tsan_destroy_fiber(state_->fiber_of_tsan);
}

void Fiber::resume() {
  state_->host_of_tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(state_->fiber_of_tsan, 0);
  swapcontext(&state_->host, &state_->place);
}

void Fiber::pause() {
  __tsan_switch_to_fiber(state_->host_of_tsan, 0);
  swapcontext(&state_->place, &state_->host);
}

}  // namespace ronde::test
