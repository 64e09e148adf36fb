/// Which way all-reduces take: a transport between processes as it is, or shared memory over it.
#pragma once

#include <functional>
#include <memory>

#include <ronde/distributed/allreduce_path.h>

#include "transport/transport.h"

namespace ronde::inline v0 {

struct SharedMemoryOptions {
  AllreducePath path = AllreducePath::automatic;
  /// Called now and then while a rank waits on a node that is one of several; may throw.
  std::function<void()> idle = nullptr;
  /// What started the ranks; the transport keeps it.
  std::shared_ptr<const void> owner = nullptr;
};

/// `base`, or something faster that does the same over it. On one node that is the memory which the ranks
/// share, and `base` is not used again; on several, the hierarchy if it was faster when tried. Where ranks
/// cannot share memory, `base`; its description says why. All ranks decide alike: as rank 0 was told.
/// Collective; an error is thrown by all ranks.
std::unique_ptr<Transport> with_shared_memory(std::unique_ptr<Transport> base, SharedMemoryOptions options);

}  // namespace ronde::inline v0
