// ThreadSanitizer keeps account of jumps and takes those to another stack for a mistake. What runs on fibers
// is compiled without it, so that it need not be told of them.
#include "cuda/emulated/fiber.h"

#include <ucontext.h>

namespace ronde::test {

struct Fiber::State {
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  ucontext_t host{}, place{};
};

Fiber::Fiber(void (*work)()) : state_(std::make_unique<State>()) {
  getcontext(&state_->place);
  state_->place.uc_stack.ss_sp = state_->stack.get();
  state_->place.uc_stack.ss_size = kStack;
  makecontext(&state_->place, work, 0);
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  swapcontext(&state_->host, &state_->place);
}

void Fiber::pause() {
  swapcontext(&state_->place, &state_->host);
}

}  // namespace ronde::test
