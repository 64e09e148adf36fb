// By jumps, which unlike swapcontext need no call of the system.
#include "cuda/emulated/fiber.h"

#include <setjmp.h>
#include <ucontext.h>

namespace ronde::test {

struct Fiber::State {
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  ucontext_t begin{};
  bool has_begun = false;
  jmp_buf host{}, place{};
};

Fiber::Fiber(void (*work)()) : state_(std::make_unique<State>()) {
  getcontext(&state_->begin);
  state_->begin.uc_stack.ss_sp = state_->stack.get();
  state_->begin.uc_stack.ss_size = kStack;
  makecontext(&state_->begin, work, 0);
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  if (_setjmp(state_->host) != 0) return;
  if (state_->has_begun) _longjmp(state_->place, 1);
  state_->has_begun = true;
  setcontext(&state_->begin);
}

void Fiber::pause() {
  if (_setjmp(state_->place) == 0) _longjmp(state_->host, 1);
}

}  // namespace ronde::test
