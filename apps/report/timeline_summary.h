/// What a timeline says about a training: where the time of a step goes on each rank, which rank the others
/// wait for, how much communication is hidden, and which layers cost most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::apps {

/// A step of one rank, on average; times in seconds.
struct RankSteps {
  int rank = 0;
  std::int64_t steps = 0;
  double total = 0.0;
  double compute = 0.0;    ///< forward, loss, backward, optimizer
  double exchange = 0.0;   ///< waiting while data moved between ranks
  double waiting = 0.0;    ///< waiting for other ranks to come
  double loader = 0.0;     ///< waiting for a batch
  double callbacks = 0.0;  ///< callbacks and checkpoints
  /// Without what it waits for: the rank with the most of it holds up the others.
  double work() const { return total - exchange - waiting; }
  double other() const { return work() - compute - loader - callbacks; }
};

/// On average over ranks, in seconds a step.
struct LayerSteps {
  std::string name = {};
  double forward = 0.0;
  double backward = 0.0;
};

struct TimelineSummary {
  static constexpr std::size_t kLayersShown = 8;  ///< of `layers`, in a text or a page

  std::vector<RankSteps> ranks = {};
  std::vector<LayerSteps> layers = {};  ///< slowest first
  double communication = 0.0;           ///< seconds a step in which data moved, on average over ranks
  double hidden = 0.0;                  ///< share of it in which the training did not wait
  double clock_error = 0.0;             ///< seconds
  std::int64_t lost = 0;                ///< events
  std::string ended_early = {};         ///< why; empty: recording did not

  /// The one with the most work; nullptr for less than two.
  const RankSteps* slowest_rank() const;
  /// Its work over the median of the others', minus 1.
  double slowest_rank_excess() const;
};

/// Of a timeline's text. `source` names it in the InputError for what is no timeline of Ronde. Without ranks
/// when no step was recorded.
TimelineSummary summarize_timeline(const std::string& text, const std::string& source);

/// For a terminal, some 10 lines.
std::string summary_text(const TimelineSummary& summary);

}  // namespace ronde::apps
