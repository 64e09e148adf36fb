#include "start_settings.h"

#include <ronde/core/backend.h>
#include <ronde/core/error.h>

namespace ronde::inline v0 {

StartSettings read_start_settings() {
  StartSettings found;
  try {
    found.deadlines = deadlines_from_environment();
    found.meeting_patience = meeting_patience();
    backends();  // they read RONDE_ISA and RONDE_CONV as they are made
  } catch (const UsageError& error) {
    found.mistake = error.what();
  }
  return found;
}

}  // namespace ronde::inline v0
