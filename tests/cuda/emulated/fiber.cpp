// By the compiler's own jumps: unlike swapcontext they need no call of the system, and unlike longjmp no
// sanitizer looks at where they lead. This file is not instrumented: AddressSanitizer would mark a whole
// stack as usable before each jump, which takes longer than the rest of a kernel and forgets the bounds of
// its frames.
#include "cuda/emulated/fiber.h"

#include <ucontext.h>

#include <atomic>
#include <new>

#include "cuda/emulated/stack_in_use.h"

namespace ronde::test {

namespace {

// Where a stack was left for another one.
struct Place {
  void* registers[5] = {};
  void* kept = nullptr;
};

// Not to be called where the place is noted.
[[noreturn, gnu::noinline]] void jump(Place& place) {
  __builtin_longjmp(place.registers, 1);
}

// Stacks that began at the same distance from what they are aligned to would be the same lines of a cache.
std::size_t next_distance() {
  constexpr std::size_t kLine = 64, kDistances = 64;
  static std::atomic<std::size_t> fibers = 0;
  return fibers++ % kDistances * kLine;
}

struct FreeStack {
  void operator()(char* memory) const { ::operator delete (memory, std::align_val_t{Fiber::kStack}); }
};

}  // namespace

struct Fiber::State {
  explicit State(void (*of)()) : work(of) {}

  void (*work)();
  std::unique_ptr<char, FreeStack> memory{
      static_cast<char*>(::operator new (kStack, std::align_val_t{kStack}))};
  Stack stack{memory.get() + kKept, kStack - kKept - next_distance()}, host_stack;
  ucontext_t begin{};
  bool has_begun = false;
  Place host, place;

  // What begins on a new stack cannot be given anything.
  static inline thread_local State* beginning = nullptr;
  static void enter() {
    State& me = *beginning;
    me.host_stack = arrive_on_stack(nullptr);
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
  state_->begin.uc_stack.ss_sp = const_cast<void*>(state_->stack.begin);
  state_->begin.uc_stack.ss_size = state_->stack.size;
  makecontext(&state_->begin, &State::enter, 0);
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  leave_stack(&state_->host.kept, state_->stack);
  if (__builtin_setjmp(state_->host.registers) == 0) state_->go_on();
  arrive_on_stack(state_->host.kept);
}

void Fiber::pause() {
  leave_stack(&state_->place.kept, state_->host_stack);
  if (__builtin_setjmp(state_->place.registers) == 0) jump(state_->host);
  state_->host_stack = arrive_on_stack(state_->place.kept);
}

}  // namespace ronde::test
