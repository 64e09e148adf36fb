#include "watchdog/diagnosis.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include <ronde/core/text.h>

#include "transport/ranks_text.h"
#include "watchdog/deadlines.h"
#include "watchdog/process_state.h"

namespace ronde::inline v0 {
namespace {

bool is_silent(const ProgressSlot& slot, std::int64_t silence) {
  return FlightRecorder::now() - slot.beat.load(std::memory_order_relaxed) > silence;
}

std::string describe(const ProgressBoard& board, const LateRank& late) {
  const ProgressSlot& slot = board.slot(late.index);
  const int process = slot.process.load(std::memory_order_relaxed);
  const std::int64_t step = slot.step.load(std::memory_order_relaxed);
  const WatchedWork work = slot.work.load(std::memory_order_relaxed);
  const char state = process_state(process);
  const bool is_busy = work != WatchedWork::none && state != 'T' && state != '\0';
  return cat("rank ", board.rank(late.index), " (process ", process, ") ",
             is_busy ? cat("is ", describe(work)) : state_text(state),
             late.sequence > 0 ? cat(" after #", late.sequence) : std::string(" before its first operation"),
             step > 0 ? cat(" in step ", step) : std::string());
}

// Of ranks that have more communicators than places on the board, so that this one may not be there; "" when
// there are none.
std::string describe_unseen(const ProgressBoard& board, const FlightRecorder::Pending& pending) {
  std::vector<int> unseen;
  for (std::size_t i = 0; i < board.size(); ++i) {
    const ProgressSlot& slot = board.slot(i);
    if (i != board.own() && slot.is_crowded.load() && slot.sequence_of(pending.id) < 0)
      unseen.push_back(board.rank(i));
  }
  if (unseen.empty()) return "";
  return cat("it is not known which rank is late, as the watchdog sees ", ProgressSlot::kGroups,
             " communicators of a rank, and ", ranks_text(unseen), unseen.size() == 1 ? " has" : " have",
             " more");
}

// Of the ranks that are not on this node; "" when all are.
std::string describe_elsewhere(const ProgressBoard& board, const std::vector<std::string>& hosts) {
  std::vector<int> elsewhere;
  std::set<std::string> names;
  for (int r = 0; r < static_cast<int>(hosts.size()); ++r) {
    bool is_here = false;
    for (std::size_t i = 0; i < board.size(); ++i) is_here |= board.rank(i) == r;
    if (is_here) continue;
    elsewhere.push_back(r);
    names.insert(hosts[static_cast<std::size_t>(r)]);
  }
  if (elsewhere.empty()) return "";
  std::string where;
  for (const std::string& name : names) where += cat(where.empty() ? " on " : ", ", name);
  return cat("no rank of this node is late; the late one is among ", ranks_text(elsewhere), where);
}

}  // namespace

std::string seconds_text(double seconds) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), seconds < 10.0 ? "%.1f s" : "%.0f s", seconds);
  return text.data();
}

std::vector<LateRank> find_late(const ProgressBoard& board, const FlightRecorder::Pending& pending,
                                std::int64_t silence) {
  std::vector<LateRank> late;
  for (std::size_t i = 0; i < board.size(); ++i) {
    const ProgressSlot& slot = board.slot(i);
    const std::int64_t sequence = slot.sequence_of(pending.id);
    if (i == board.own() || sequence < 0) continue;
    const bool silent = is_silent(slot, silence);
    if (silent || sequence < pending.operation.sequence) late.push_back({i, sequence, silent});
  }
  return late;
}

std::size_t find_speaker(const ProgressBoard& board, const std::vector<LateRank>& late) {
  for (std::size_t i = 0; i < board.size(); ++i) {
    const bool is_late =
        std::any_of(late.begin(), late.end(), [&](const LateRank& l) { return l.index == i; });
    if (!is_late) return i;
  }
  return board.own();
}

std::vector<int> find_silent_processes(const ProgressBoard& board, std::int64_t silence) {
  std::vector<int> processes;
  for (std::size_t i = 0; i < board.size(); ++i) {
    const ProgressSlot& slot = board.slot(i);
    if (i != board.own() && is_silent(slot, silence))
      processes.push_back(slot.process.load(std::memory_order_relaxed));
  }
  return processes;
}

std::string describe_hang(const ProgressBoard& board, const std::vector<LateRank>& late,
                          const FlightRecorder::Pending& pending, double seconds,
                          const std::vector<std::string>& hosts) {
  std::string who;
  for (const LateRank& one : late) who += cat(who.empty() ? "" : "; ", describe(board, one));
  if (late.empty()) who = describe_unseen(board, pending);
  if (who.empty()) who = describe_elsewhere(board, hosts);
  if (who.empty()) who = "all ranks are there, but their data do not move";
  return cat(who, "; ", late.size() == 1 ? "the others have" : "this rank has", " waited for ",
             seconds_text(seconds), " in ", describe(pending.operation),
             pending.group == "world" ? std::string() : cat(" of communicator ", pending.group));
}

}  // namespace ronde::inline v0
