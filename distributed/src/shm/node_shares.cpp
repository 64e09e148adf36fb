#include "shm/node_shares.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

// Runs `f`; what it throws is for all to see in this rank's slot.
template <class F>
void attempt(NodeGroup::Slot& slot, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    std::snprintf(slot.error, sizeof slot.error, "%s", error.what());
  }
}

std::string first_error(const NodeGroup& group) {
  for (int r = 0; r < group.size(); ++r) {
    if (group.slot(r).error[0] != '\0') return cat(group.slot(r).error, " (rank ", r, ")");
  }
  return "";
}

}  // namespace

std::vector<std::shared_ptr<SharedRegion>> exchange_regions(NodeGroup& group, std::int64_t bytes,
                                                            const std::vector<int>& wanted,
                                                            std::string& why_not) {
  NodeGroup::Slot& slot = group.own_slot();
  slot.error[0] = '\0';
  std::shared_ptr<SharedRegion> own;
  if (bytes > 0) {
    attempt(slot, [&] {
      own = SharedRegion::create(group.kind(), bytes);
      slot.ticket = own->ticket();
    });
  }
  group.arrive();
  std::vector<std::shared_ptr<SharedRegion>> regions;
  why_not = first_error(group);
  group.arrive();  // all have seen the errors so far
  if (!why_not.empty()) return regions;
  attempt(slot, [&] {
    for (const int r : wanted) regions.push_back(SharedRegion::attach(group.slot(r).ticket));
  });
  group.arrive();
  if (own) own->close_door();
  why_not = first_error(group);
  if (!why_not.empty()) regions.clear();
  return regions;
}

std::shared_ptr<void> NodeShares::make(NodeGroup& group, std::int64_t bytes) {
  std::vector<int> all(static_cast<std::size_t>(group.size()));
  std::iota(all.begin(), all.end(), 0);
  auto share = std::make_shared<Share>();
  std::string why_not;
  share->number = made_++;
  share->regions = exchange_regions(group, bytes, all, why_not);
  if (share->regions.empty()) return nullptr;
  std::erase_if(shares_, [](const auto& other) { return other.expired(); });
  shares_.push_back(share);
  char* data = share->regions[static_cast<std::size_t>(group.rank())]->data();
  return {std::move(share), data};
}

NodeGroup::Spot NodeShares::locate(const void* address, int rank) const {
  for (const auto& weak : shares_) {
    const std::shared_ptr<const Share> share = weak.lock();
    if (!share) continue;
    const SharedRegion& own = *share->regions[static_cast<std::size_t>(rank)];
    const char* begin = own.data();
    const auto* at = static_cast<const char*>(address);
    if (begin <= at && at < begin + own.bytes()) return {share->number, at - begin};
  }
  return {};
}

std::vector<char*> NodeShares::addresses(const std::vector<NodeGroup::Spot>& spots) const {
  const std::int64_t number = spots.front().share;
  if (std::any_of(spots.begin(), spots.end(), [&](const auto& spot) { return spot.share != number; }))
    return {};
  for (const auto& weak : shares_) {
    const std::shared_ptr<const Share> share = weak.lock();
    if (!share || share->number != number) continue;
    std::vector<char*> addresses;
    for (std::size_t r = 0; r < spots.size(); ++r)
      addresses.push_back(share->regions[r]->data() + spots[r].offset);
    return addresses;
  }
  return {};
}

}  // namespace ronde::inline v0
