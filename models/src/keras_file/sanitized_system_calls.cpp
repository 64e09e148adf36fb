#include "keras_file/system_call_filter.h"

namespace ronde::inline v0 {

// UndefinedBehaviorSanitizer tries memory by writing it to a pipe, and takes a pipe that it does not get for
// bad memory.
void filter_system_calls() {}

}  // namespace ronde::inline v0
