/// The host waits for the device by asking: it never hangs inside a driver, so a watchdog can report, and an
/// error that another part of the device raised is seen.
#pragma once

#include <chrono>

#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

/// Between two questions: none at first, for some 100 us, then ever longer pauses.
class Pauses {
 public:
  void pause();

 private:
  int questions_ = 0;
  std::chrono::microseconds next_{10};
};

/// Asks in a loop at first, soon with pauses, which take under 1 % of a core.
Status wait_for(Runtime& runtime, Event event);
/// For all that the stream was given.
Status wait_for(Runtime& runtime, Stream stream);

}  // namespace ronde::inline v0::cuda
