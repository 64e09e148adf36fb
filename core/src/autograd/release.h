/// Lets go of graphs without recursion.
#pragma once

#include <memory>

namespace ronde::inline v0 {

/// Drops a reference that may be the last one to a long chain of nodes and variables. The destructor of one
/// link calls this for the next; only the outermost call destroys, in a loop, so the depth of the stack does
/// not grow with the length of the chain.
void release(std::shared_ptr<const void> link) noexcept;

}  // namespace ronde::inline v0
