/// How ranks that can already talk to each other come to share memory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "shm/node_group.h"
#include "transport/transport.h"

namespace ronde::inline v0 {

/// A group of all ranks of `base`, which are on one node; nullptr on all of them, and why, when they cannot
/// share memory. `idle`: see NodeGroup. Collective.
std::unique_ptr<NodeGroup> open_node_group(Transport& base, const std::function<void()>& idle,
                                           std::string& why_not);

}  // namespace ronde::inline v0
