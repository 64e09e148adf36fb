#pragma once

#include <vector>

#include <ronde/core/machine.h>

namespace ronde::inline v0 {

/// All interfaces, in the kernel's order.
std::vector<NetworkInterface> network_interfaces();

}  // namespace ronde::inline v0
