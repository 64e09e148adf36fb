#include "training/rank_watch.h"

#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include <ronde/distributed/values.h>

namespace ronde::inline v0 {
namespace {

constexpr std::size_t kWindow = 32;
/// Kernels are made, and memory is touched for the first time.
constexpr std::int64_t kWarmUp = 4;

// Ranks that share a process, or cores, take turns: their times say nothing of their machines.
bool have_own_cores(const std::vector<RankFacts>& ranks) {
  std::set<std::pair<int, int>> processes;
  for (const RankFacts& rank : ranks) processes.insert({rank.node, rank.process});
  return processes.size() == ranks.size() && find_crowded_nodes(ranks).empty();
}

}  // namespace

bool have_like_shares(std::int64_t global_batch, std::int64_t ranks) {
  constexpr std::int64_t kManySamples = 8;
  return global_batch % ranks == 0 || global_batch / ranks >= kManySamples;
}

void RankWatch::begin(Wishes wishes) {
  ranks_ = communicator_.size() > 1 ? gather_rank_facts(communicator_)
                                    : std::vector<RankFacts>{own_rank_facts(communicator_)};
  require_same_libraries(ranks_);
  if (wishes.deterministic) require_same_kernels(ranks_, wishes.computed);
  if (wishes.warn_of_crowding)
    for (const CrowdedNode& node : find_crowded_nodes(ranks_)) warn_(describe(node));
  compares_speed_ = ranks_.size() > 1 && have_own_cores(ranks_) &&
                    have_like_shares(wishes.global_batch, std::ssize(ranks_));
}

void RankWatch::add_step(double seconds) {
  if (!compares_speed_ || ++steps_ <= kWarmUp) return;
  window_.push_back(seconds);
  if (window_.size() == kWindow) compare_windows();
}

void RankWatch::compare_windows() {
  const StepTimes own = step_times(std::exchange(window_, {}));
  const std::array quartiles{own.lower, own.median, own.upper};
  const std::vector<double> values = allgather(communicator_, quartiles, "step times").wait();
  std::vector<StepTimes> all;
  for (std::size_t i = 0; i < values.size(); i += 3) all.push_back({values[i], values[i + 1], values[i + 2]});
  for (const Straggler& straggler : detector_.add(all)) warn_(describe(straggler, ranks_));
}

namespace {

// " (threads: 1, rank 0: 4)" where they have not the same.
template <class T>
std::string difference(const char* what, const RankFacts& own, const RankFacts& other, T RankFacts::*fact) {
  return own.*fact == other.*fact
             ? ""
             : cat(" (", what, ": ", own.*fact, ", rank ", other.rank, ": ", other.*fact, ")");
}

}  // namespace

std::string describe(const Straggler& straggler, const std::vector<RankFacts>& ranks) {
  const RankFacts& slow = ranks[static_cast<std::size_t>(straggler.rank)];
  const RankFacts& other = ranks[straggler.rank == 0 ? 1 : 0];
  const std::string differences = difference("threads", slow, other, &RankFacts::threads) +
                                  difference("kernels", slow, other, &RankFacts::kernels);
  return cat("rank ", slow.rank, " on ", slow.host, differences, " takes ",
             formatted("%.1f", straggler.seconds / straggler.others_seconds),
             " times as long as the others for its part of a step (",
             formatted("%.3g", 1e3 * straggler.seconds), " ms, the others ",
             formatted("%.3g", 1e3 * straggler.others_seconds),
             " ms), and all wait for it; look for what else runs on that machine");
}

}  // namespace ronde::inline v0
