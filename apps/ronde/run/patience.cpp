#include "ronde/run/patience.h"

#include <algorithm>
#include <utility>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

constexpr double kMore = 5.0;  // seconds for the ranks' watchdogs to end the job themselves
constexpr double kLongestLook = 1.0;
constexpr double kGlimpse = 1.0;  // seconds from one to the next
// Of a processor, in between: a rank that waits needs a few hundredths, for its watchdog and for looking.
constexpr double kLeastComputing = 0.1;

struct Progress {
  std::int64_t sum = 0;
  int started = 0;
  std::int64_t step = 0;
  bool is_paused = false;
  double start_deadline = 0.0, later_deadline = 0.0;  // the longest
};

Progress progress_of(const HeartbeatFile& beats) {
  Progress all;
  for (int r = 0; r < beats.ranks(); ++r) {
    const HeartbeatSlot& slot = beats.slot(r);
    if (slot.process.load() == 0) continue;
    ++all.started;
    if (slot.paused.load() != 0) all.is_paused = true;
    all.step = std::max(all.step, slot.step.load());
    all.sum += slot.step.load() + slot.operations.load() + slot.batches.load();
    all.start_deadline = std::max(all.start_deadline, slot.start_deadline.load());
    all.later_deadline = std::max(all.later_deadline, slot.later_deadline.load());
  }
  all.sum += all.started;
  return all;
}

}  // namespace

Patience::Patience(double now, ProcessorTime processor_time)
    : processor_time_(std::move(processor_time)), looked_(now) {}

// Since the last glimpses, unless those are too fresh to tell. See Note [What moves].
bool Patience::computes(const HeartbeatFile& beats) {
  const double span = awake_ - glimpsed_;
  if (span < kGlimpse) return false;
  glimpsed_ = awake_;
  glimpses_.resize(static_cast<std::size_t>(beats.ranks()));
  bool is_computing = false, is_one_still = false;
  for (int r = 0; r < beats.ranks(); ++r) {
    const HeartbeatSlot& slot = beats.slot(r);
    const pid_t process = slot.process.load();
    if (process == 0) continue;
    const Glimpse now{.beat = slot.beat.load(), .computed = processor_time_(process)};
    const Glimpse before = std::exchange(glimpses_[static_cast<std::size_t>(r)], now);
    if (before.computed == 0.0 || now.computed == 0.0) continue;  // it was not there, or has ended
    const bool one_computes = now.computed - before.computed >= kLeastComputing * span;
    is_computing = is_computing || one_computes;
    is_one_still = is_one_still || (!one_computes && now.beat == before.beat);
  }
  return is_computing && !is_one_still;
}

std::string Patience::complaint(const HeartbeatFile& beats, double now) {
  const Progress progress = progress_of(beats);
  const double passed = std::min(now - looked_, kLongestLook);
  awake_ += passed;
  waited_ += passed;
  looked_ = now;
  const bool moves = progress.started == 0 || progress.sum != seen_ || progress.is_paused;
  if (computes(beats) || moves) {
    seen_ = progress.sum;
    waited_ = 0.0;
  }
  // Until its first step a job does what the start does, and what comes later.
  const double limit = progress.step == 0 ? std::max(progress.start_deadline, progress.later_deadline)
                                          : progress.later_deadline;
  if (waited_ < limit + kMore) return "";
  const std::string since = cat(" for ", static_cast<std::int64_t>(waited_), " s");
  if (progress.started < beats.ranks())
    return cat("only ", progress.started, " of ", counted(beats.ranks(), "rank"),
               " started, and nothing moved", since);
  return progress.step == 0 ? cat("the ranks have come to no first step, and nothing moved", since)
                            : cat("nothing has moved", since, ", in step ", progress.step);
}

}  // namespace ronde::apps
