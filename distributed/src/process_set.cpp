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

ProcessSet::ProcessSet(Communicator& parent, std::vector<int> ranks)
    : own_rank_(parent.rank()), ranks_(std::move(ranks)) {
  collectively(parent, [&] { check_ranks(ranks_, parent.size()); });
  // All ranks must mean the same set.
  Collective same_list;
  same_list.verb = Collective::Verb::barrier;
  same_list.type = list_of(ranks_);
  parent.start(std::move(same_list)).wait();
  const auto own = std::find(ranks_.begin(), ranks_.end(), own_rank_);
  communicator_ = parent.split(own == ranks_.end() ? -1 : 0, static_cast<int>(own - ranks_.begin()));
}

Communicator& ProcessSet::communicator() const {
  require<UsageError>(included(), "[process_set] rank ", own_rank_, " is not in the process set of ranks ",
                      list_of(ranks_));
  return *communicator_;
}

}  // namespace ronde::inline v0
