#include "cuda/emulated/stack_in_use.h"

#include <sanitizer/common_interface_defs.h>

namespace ronde::test {

void leave_stack(void** kept, const Stack& to) {
  __sanitizer_start_switch_fiber(kept, to.begin, to.size);
}

Stack arrive_on_stack(void* kept) {
  Stack left;
  __sanitizer_finish_switch_fiber(kept, &left.begin, &left.size);
  return left;
}

}  // namespace ronde::test
