#include "cuda/emulated/stack_in_use.h"

namespace ronde::test {

void leave_stack(void**, const Stack&) {}

Stack arrive_on_stack(void*) {
  return {};
}

}  // namespace ronde::test
