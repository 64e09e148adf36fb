/// What AddressSanitizer is told when a thread goes on with another stack: it keeps the limits of the one in
/// use. stack_in_use.cpp tells it; no_stack_in_use.cpp is for builds without it.
#pragma once

#include <cstddef>

namespace ronde::test {

struct Stack {
  const void* begin = nullptr;
  std::size_t size = 0;
};

/// Before the first instruction on `to`. `*kept` is for `arrive_on_stack` when it goes on with this one.
void leave_stack(void** kept, const Stack& to);
/// Behind it, with what `leave_stack` kept (nullptr where a stack is begun). Returns the stack that was left.
Stack arrive_on_stack(void* kept);

}  // namespace ronde::test
