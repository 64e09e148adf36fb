#pragma once

namespace ronde::inline v0 {

/// From now on this process can open nothing, and only compute, take and give back memory, read and write
/// what it has open, and end: all other calls of the system fail with EPERM. Where the kernel's filter is not
/// known to work only opening is forbidden; in a build for sanitizers, nothing.
void filter_system_calls();

}  // namespace ronde::inline v0
