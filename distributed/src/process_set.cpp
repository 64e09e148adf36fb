#include <ronde/distributed/process_set.h>

#include <algorithm>

namespace ronde::inline v0 {
namespace {

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += cat(text.empty() ? "" : ", ", rank);
  return text;
}

void check_ranks(std::vector<int> ranks, int size) {
  require<UsageError>(!ranks.empty(), "[process_set] expects at least one rank");
  const std::string list = list_of(ranks);
  std::sort(ranks.begin(), ranks.end());
  require<UsageError>(ranks.front() >= 0 && ranks.back() < size, "[process_set] expects ranks from 0 to ",
                      size - 1, ", got ", list);
  require<UsageError>(std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end(),
                      "[process_set] expects each rank once, got ", list);
}

}  // namespace

ProcessSet::ProcessSet(Communicator& parent, std::vector<int> ranks) : ranks_(std::move(ranks)) {
  collectively(parent, [&] { check_ranks(ranks_, parent.size()); });
  // All ranks must mean the same set.
  Collective same_list;
  same_list.verb = Collective::Verb::barrier;
  same_list.type = list_of(ranks_);
  parent.start(std::move(same_list)).wait();
  const auto own = std::find(ranks_.begin(), ranks_.end(), parent.rank());
  communicator_ = parent.split(own == ranks_.end() ? -1 : 0, static_cast<int>(own - ranks_.begin()));
  if (included()) return;
  std::vector<int> in_world = ranks_;
  for (int& rank : in_world) rank = parent.world_rank(rank);
  refusal_ = cat("[process_set] rank ", parent.world_rank(parent.rank()),
                 " is not in the process set of ranks ", list_of(in_world));
}

Communicator& ProcessSet::communicator() const {
  require<UsageError>(included(), refusal_);
  return *communicator_;
}

}  // namespace ronde::inline v0
