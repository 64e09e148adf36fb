/// The two parts in a gathering: rank 0 is the host, the others are its guests.
#pragma once

#include "tcp/rendezvous.h"

namespace ronde::inline v0 {

/// Waits for all others, and tells them who is there. Throws what it tells them otherwise.
Gathering gather_as_host(const TcpOptions& options);
/// Finds rank 0, and does as it says.
Gathering gather_as_guest(const TcpOptions& options);

/// Ranks but `rank` of which there is no connection.
std::vector<int> missing_ranks(const std::vector<Socket>& links, int rank);

}  // namespace ronde::inline v0
