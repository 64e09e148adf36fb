/// NodeShares: memory that a rank and its peers can all reach, each through a mapping of its own; what stands
/// behind `Communicator::shared_tensor` on one node.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shm/node_group.h"

namespace ronde::inline v0 {

class NodeShares {
 public:
  /// One memory of equal size per rank, by rank.
  struct Share {
    std::int64_t number = 0;
    std::vector<std::shared_ptr<SharedRegion>> regions;
  };

  /// Collective; nullptr on all ranks when one of them could not. The share lives as long as what is
  /// returned.
  std::shared_ptr<void> make(NodeGroup& group, std::int64_t bytes);
  /// Where rank `rank` has this address.
  NodeGroup::Spot locate(const void* address, int rank) const;
  /// Where these spots are for this rank, one of each rank; empty unless all are in the same share. Valid
  /// while somebody keeps the share.
  std::vector<char*> addresses(const std::vector<NodeGroup::Spot>& spots) const;

 private:
  std::int64_t made_ = 0;
  std::vector<std::weak_ptr<const Share>> shares_;
};

/// Makes a region of its own on every rank for which `bytes` is positive, and has each attach to what
/// `wanted` lists. Collective; empty pointers on all ranks, and the reason, when one of them could not.
std::vector<std::shared_ptr<SharedRegion>> exchange_regions(NodeGroup& group, std::int64_t bytes,
                                                            const std::vector<int>& wanted,
                                                            std::string& why_not);

}  // namespace ronde::inline v0
