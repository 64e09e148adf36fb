// AddressSanitizer keeps the limits of the stack that is in use.
#include "cuda/emulated/fiber.h"

#include <sanitizer/common_interface_defs.h>
#include <ucontext.h>

namespace ronde::test {

struct Fiber::State {
  void (*work)();
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  ucontext_t host{}, place{};
  void *host_stack_of_asan = nullptr, *stack_of_asan = nullptr;
  const void* host_stack = nullptr;
  std::size_t host_stack_size = 0;
};

namespace {

// Where a fiber begins, it cannot be told which one it is but by this.
thread_local void (*begin_fiber)(void*) = nullptr;
thread_local void* beginning = nullptr;

void enter() {
  begin_fiber(beginning);
}

}  // namespace

Fiber::Fiber(void (*work)()) : state_(std::make_unique<State>()) {
  state_->work = work;
  getcontext(&state_->place);
  state_->place.uc_stack.ss_sp = state_->stack.get();
  state_->place.uc_stack.ss_size = kStack;
  makecontext(&state_->place, &enter, 0);
  // Else each switch would mark all of this stack as usable, half of a kernel's time, and frames' bounds be
  // lost.
  state_->place.uc_stack.ss_size = 0;
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  State& s = *state_;
  beginning = &s;
  begin_fiber = [](void* of) {
    State& me = *static_cast<State*>(of);
    __sanitizer_finish_switch_fiber(me.stack_of_asan, &me.host_stack, &me.host_stack_size);
    me.work();
  };
  __sanitizer_start_switch_fiber(&s.host_stack_of_asan, s.stack.get(), kStack);
  swapcontext(&s.host, &s.place);
  __sanitizer_finish_switch_fiber(s.host_stack_of_asan, nullptr, nullptr);
}

void Fiber::pause() {
  State& s = *state_;
  __sanitizer_start_switch_fiber(&s.stack_of_asan, s.host_stack, s.host_stack_size);
  swapcontext(&s.place, &s.host);
  __sanitizer_finish_switch_fiber(s.stack_of_asan, &s.host_stack, &s.host_stack_size);
}

}  // namespace ronde::test
