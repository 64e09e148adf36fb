/// How much a process computes.
#pragma once

#include <sys/types.h>

namespace ronde::apps {

/// Seconds that the processors have worked for it, all of its threads together; 0 for one that is not there.
double processor_seconds(pid_t process);

}  // namespace ronde::apps
