/// This machine's addresses, and which of them may be listened at without a second thought.
///
///     local_addresses("eth1");           // of an interface
///     local_addresses("10.0.0.0/24");    // within a network: the same words on all machines of a cluster
///     local_addresses("");               // all that are up, loopback last
#pragma once

#include <string>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// As numbers, IPv4 before IPv6. UsageError, naming what there is, when `where` fits none.
RONDE_API std::vector<std::string> local_addresses(const std::string& where);
/// Loopback, link-local, and what no router of the internet passes on (RFC 1918, 6598, 4193, 5737).
RONDE_API bool is_private_address(const std::string& address);

}  // namespace ronde::inline v0
