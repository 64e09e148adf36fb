#include "shm/open_node_group.h"

#include <unistd.h>

#include "transport/first_failure.h"

namespace ronde::inline v0 {
namespace {

constexpr int kMostRanks = 1024;  // parts of a stage stay whole cache lines

std::shared_ptr<SharedRegion> share_region(Transport& base, SharedRegion::Kind kind, std::string& why_not) {
  std::shared_ptr<SharedRegion> region;
  SharedRegion::Ticket ticket;
  const bool is_first = base.place().rank == 0;
  const std::string not_made = failure_of([&] {
    if (!is_first) return;
    region = SharedRegion::create(kind, NodeGroup::bytes_for(base.place().size));
    ticket = region->ticket();
  });
  why_not = first_failure(base, not_made);
  if (!why_not.empty()) return nullptr;
  base.broadcast(&ticket, sizeof ticket, 0);
  const std::string not_found = failure_of([&] {
    if (!is_first) region = SharedRegion::attach(ticket);
  });
  why_not = first_failure(base, not_found);
  if (is_first) region->close_door();
  return why_not.empty() ? region : nullptr;
}

std::vector<int> processes_of(Transport& base) {
  const int own = getpid();
  std::vector<int> all(static_cast<std::size_t>(base.place().size));
  base.allgatherv(all.data(), &own, std::vector<std::int64_t>(all.size(), sizeof own));
  return all;
}

}  // namespace

std::unique_ptr<NodeGroup> open_node_group(Transport& base, const std::function<void()>& idle,
                                           std::string& why_not) {
  const Place place = base.place();
  if (place.size > kMostRanks) {
    why_not = cat("more than ", kMostRanks, " ranks on one node");
    return nullptr;
  }
  for (const auto kind : {SharedRegion::Kind::anonymous, SharedRegion::Kind::named}) {
    if (std::shared_ptr<SharedRegion> region = share_region(base, kind, why_not))
      return std::make_unique<NodeGroup>(std::move(region), place.rank, processes_of(base), idle);
  }
  return nullptr;
}

}  // namespace ronde::inline v0
