/// What the system knows of a process of this machine.
#pragma once

#include <string>

namespace ronde::inline v0 {

/// As /proc has it: 'R' runs, 'S' sleeps, 'D' waits for a device, 'T' is stopped ...; 0: there is none.
char process_state(int process);
/// Whether a debugger holds it.
bool is_traced(int process);
/// "is stopped (SIGSTOP)", "sleeps", ...
std::string state_text(char state);

}  // namespace ronde::inline v0
