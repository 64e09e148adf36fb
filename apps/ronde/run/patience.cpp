#include "ronde/run/patience.h"

#include <algorithm>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

constexpr double kMore = 5.0;  // seconds for the ranks' watchdogs to end the job themselves
constexpr double kLongestLook = 1.0;

struct Progress {
  std::int64_t sum = 0;
  int started = 0;
  std::int64_t step = 0;
  bool is_paused = false;
};

Progress progress_of(const HeartbeatFile& beats) {
  Progress all;
  for (int r = 0; r < beats.ranks(); ++r) {
    const HeartbeatSlot& slot = beats.slot(r);
    if (slot.process.load() != 0) ++all.started;
    if (slot.paused.load() != 0) all.is_paused = true;
    all.step = std::max(all.step, slot.step.load());
    all.sum += slot.step.load() + slot.operations.load();
  }
  all.sum += all.started;
  return all;
}

}  // namespace

Patience::Patience(const JobDeadlines& ranks, double now) : ranks_(ranks), looked_(now) {}

std::string Patience::complaint(const HeartbeatFile& beats, double now) {
  const Progress progress = progress_of(beats);
  waited_ += std::min(now - looked_, kLongestLook);
  looked_ = now;
  if (progress.sum != seen_ || progress.is_paused) {
    seen_ = progress.sum;
    waited_ = 0.0;
  }
  // Until its first step a job does what the start does, and what comes later.
  const double limit = progress.step == 0 ? std::max(ranks_.start, ranks_.later) : ranks_.later;
  if (waited_ < limit + kMore) return "";
  const std::string since = cat(" for ", static_cast<std::int64_t>(waited_), " s");
  if (progress.started < beats.ranks())
    return cat("only ", progress.started, " of ", counted(beats.ranks(), "rank"),
               " started, and nothing moved", since);
  return progress.step == 0 ? cat("the ranks have come to no first step, and nothing moved", since)
                            : cat("nothing has moved", since, ", in step ", progress.step);
}

}  // namespace ronde::apps
