#include "ronde/run/start_facts.h"

#include <algorithm>

namespace ronde::apps {
namespace {

constexpr double kFruitful = 60.0;  // seconds

StartFacts::Ranks ranks_of(const HeartbeatFile& beats) {
  StartFacts::Ranks ranks = StartFacts::Ranks::silent;
  for (int r = 0; r < beats.ranks(); ++r) {
    if (beats.slot(r).process.load() == 0) continue;
    if (beats.slot(r).trains.load() != 0) return StartFacts::Ranks::trainers;
    ranks = StartFacts::Ranks::others;
  }
  return ranks;
}

}  // namespace

bool StartFacts::has_made_something() const {
  switch (ranks) {
    case Ranks::silent:
      return seconds > kFruitful;
    case Ranks::others:
      return true;
    case Ranks::trainers:
      break;
  }
  return step > 0;
}

bool StartFacts::got_further_than(std::int64_t best_step) const {
  return step > best_step || (ranks != Ranks::trainers && seconds > kFruitful);
}

StartFacts facts_of(const HeartbeatFile& beats, double seconds) {
  return {.ranks = ranks_of(beats), .step = step_of(beats), .seconds = seconds};
}

std::int64_t step_of(const HeartbeatFile& beats) {
  std::int64_t step = 0;
  for (int r = 0; r < beats.ranks(); ++r) step = std::max(step, beats.slot(r).step.load());
  return step;
}

}  // namespace ronde::apps
