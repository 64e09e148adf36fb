// A timeline's summary for a terminal.
#include <algorithm>
#include <array>
#include <cstdio>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

#include "report/timeline_summary.h"

namespace ronde::apps {
namespace {

template <class... Values>
std::string format(const char* text, Values... values) {
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), text, values...);
  return line.data();
}

std::string rank_line(const RankSteps& rank) {
  const double all = std::max(rank.total, 1e-12) / 100.0;
  return format("  %4d %7lld %9.2f %8.1f%% %8.1f%% %8.1f%% %7.1f%% %9.1f%% %6.1f%%\n", rank.rank,
                static_cast<long long>(rank.steps), 1e3 * rank.total, rank.compute / all, rank.exchange / all,
                rank.waiting / all, rank.loader / all, rank.callbacks / all, rank.other() / all);
}

std::string layer_lines(const TimelineSummary& summary) {
  if (summary.layers.empty()) return "";
  std::string text = "\nslowest layers, ms a step                                  forward  backward\n";
  for (std::size_t i = 0; i < std::min(TimelineSummary::kLayersShown, summary.layers.size()); ++i) {
    const LayerSteps& layer = summary.layers[i];
    text +=
        format("  %-56.56s %8.3f  %8.3f\n", layer.name.c_str(), 1e3 * layer.forward, 1e3 * layer.backward);
  }
  return text;
}

}  // namespace

std::string summary_text(const TimelineSummary& summary) {
  if (summary.ranks.empty())
    return "no training step was recorded: Model::fit marks its own, a loop of your own needs a TraceStep in "
           "each (ronde/core/trace.h)\n";
  std::string text = "  rank   steps   ms/step   compute  exchange   waiting  loader  callbacks   other\n";
  for (const RankSteps& rank : summary.ranks) text += rank_line(rank);
  if (const RankSteps* slowest = summary.slowest_rank()) {
    text += format("\nslowest rank: %d, with %.1f %% more work a step than the others\n", slowest->rank,
                   100.0 * summary.slowest_rank_excess());
    text += format("communication: %.2f ms a step, %.0f %% of it hidden behind computation\n",
                   1e3 * summary.communication, 100.0 * summary.hidden);
    text += "exchange: data moves and nothing is computed meanwhile; waiting: idle until other ranks come\n";
    text += summary.clock_error > 0.0 ? format("clocks agree within %.1f us\n", 1e6 * summary.clock_error)
                                      : "all ranks have one clock\n";
  }
  text += layer_lines(summary);
  if (summary.lost > 0)
    text += cat("\n", counted(summary.lost, "event"), summary.lost == 1 ? " was" : " were",
                " lost: too many at once\n");
  if (!summary.ended_early.empty()) text += cat("\nrecording ended early: ", summary.ended_early, "\n");
  return text;
}

}  // namespace ronde::apps
