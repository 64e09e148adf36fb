// By the compiler's own jumps: unlike swapcontext they need no call of the system, and unlike longjmp no
// sanitizer looks at where they lead. This file is not instrumented: AddressSanitizer would mark a whole
// stack as usable before each jump, which takes longer than the rest of a kernel and forgets the bounds of
// its frames.
#include "cuda/emulated/fiber.h"

#include <ucontext.h>

#ifdef RONDE_FIBERS_TELL_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace ronde::test {

namespace {

struct Stack {
  const void* begin = nullptr;
  std::size_t size = 0;
};

// Where a stack was left for another one.
struct Place {
  void* registers[5] = {};
  void* asan = nullptr;  // what AddressSanitizer keeps of it
};

// AddressSanitizer wants to know which stack is in use.
#ifdef RONDE_FIBERS_TELL_ASAN
void leave(Place& from, const Stack& to) {
  __sanitizer_start_switch_fiber(&from.asan, to.begin, to.size);
}
void arrive(const Place& at, Stack& from) {
  __sanitizer_finish_switch_fiber(at.asan, &from.begin, &from.size);
}
#else
void leave(Place&, const Stack&) {}
void arrive(const Place&, Stack&) {}
#endif

// Not to be called where the place is noted.
[[noreturn, gnu::noinline]] void jump(Place& place) {
  __builtin_longjmp(place.registers, 1);
}

}  // namespace

struct Fiber::State {
  explicit State(void (*of)()) : work(of) {}

  void (*work)();
  std::unique_ptr<char[]> memory = std::make_unique_for_overwrite<char[]>(kStack);
  Stack stack{memory.get(), kStack}, host_stack;
  ucontext_t begin{};
  bool has_begun = false;
  Place host, place;

  // What begins on a new stack cannot be given anything.
  static inline thread_local State* beginning = nullptr;
  static void enter() {
    State& me = *beginning;
    arrive(me.place, me.host_stack);
    me.work();
  }

  [[noreturn, gnu::noinline]] void go_on() {
    if (has_begun) jump(place);
    has_begun = true;
    beginning = this;
    setcontext(&begin);
    __builtin_unreachable();
  }
};

Fiber::Fiber(void (*work)()) : state_(std::make_unique<State>(work)) {
  getcontext(&state_->begin);
  state_->begin.uc_stack.ss_sp = state_->memory.get();
  state_->begin.uc_stack.ss_size = kStack;
  makecontext(&state_->begin, &State::enter, 0);
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  leave(state_->host, state_->stack);
  if (__builtin_setjmp(state_->host.registers) == 0) state_->go_on();
  Stack own;
  arrive(state_->host, own);
}

void Fiber::pause() {
  leave(state_->place, state_->host_stack);
  if (__builtin_setjmp(state_->place.registers) == 0) jump(state_->host);
  arrive(state_->place, state_->host_stack);
}

}  // namespace ronde::test
