#include "ronde/run/patience.h"

#include <algorithm>

#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

constexpr double kMore = 5.0;  // seconds for the ranks' watchdogs to end the job themselves

struct Progress {
  std::int64_t sum = 0;
  int started = 0;
  std::int64_t step = 0;
};

Progress progress_of(const HeartbeatFile& beats) {
  Progress all;
  for (int r = 0; r < beats.ranks(); ++r) {
    const HeartbeatSlot& slot = beats.slot(r);
    if (slot.process.load() != 0) ++all.started;
    all.step = std::max(all.step, slot.step.load());
    all.sum += slot.step.load() + slot.operations.load();
  }
  all.sum += all.started;
  return all;
}

}  // namespace

Patience::Patience(double deadline, double now)
    : limit_(deadline > 0.0 ? deadline + kMore : 0.0), changed_(now) {}

std::string Patience::complaint(const HeartbeatFile& beats, double now) {
  const Progress progress = progress_of(beats);
  if (progress.sum != seen_) {
    seen_ = progress.sum;
    changed_ = now;
  }
  if (limit_ == 0.0 || now - changed_ < limit_) return "";
  const std::string since = cat(" for ", static_cast<std::int64_t>(now - changed_), " s");
  if (progress.started < beats.ranks())
    return cat("only ", progress.started, " of ", beats.ranks(), " ranks have started, and nothing moved",
               since);
  return progress.step == 0 ? cat("the ranks have come to no first step, and nothing moved", since)
                            : cat("nothing has moved", since, ", in step ", progress.step);
}

}  // namespace ronde::apps
