// Where the time of a training step goes, from the run's timeline.
#include <algorithm>

#include <ronde/core/text.h>

#include "report/html_text.h"
#include "report/sections.h"

namespace ronde::apps {
namespace {

constexpr std::size_t kRanksShown = 16;

struct Share {
  const char* name;
  double RankSteps::*seconds;
  const char* color;
};

constexpr Share kShares[] = {{"computing", &RankSteps::compute, "t0"},
                             {"exchanging gradients", &RankSteps::exchange, "t1"},
                             {"waiting for other ranks", &RankSteps::waiting, "t3"},
                             {"waiting for data", &RankSteps::loader, "t2"},
                             {"callbacks and checkpoints", &RankSteps::callbacks, "t4"}};

std::string milliseconds(double seconds) {
  return fixed(1e3 * seconds, 2) + " ms";
}

std::string rank_bar(const RankSteps& rank) {
  std::string bar;
  for (const Share& share : kShares)
    bar += cat("<i class=\"", share.color,
               "\" style=\"--w:", fixed(100.0 * rank.*share.seconds / std::max(rank.total, 1e-12), 2),
               "%\"></i>");
  return cat("<div class=\"step\"><span>rank ", rank.rank, "</span><div class=\"times\">", bar, "</div><b>",
             milliseconds(rank.total), "</b></div>\n");
}

std::string key(const TimelineSummary& summary) {
  std::string html = "<ul class=\"times-key\">\n";
  double total = 0.0;
  for (const RankSteps& rank : summary.ranks) total += rank.total;
  for (const Share& share : kShares) {
    double seconds = 0.0;
    for (const RankSteps& rank : summary.ranks) seconds += rank.*share.seconds;
    html += cat("<li class=\"", share.color, "\">", share.name, " <b>",
                percent(seconds / std::max(total, 1e-12), 1), "</b></li>\n");
  }
  return html + "</ul>\n";
}

std::string findings(const TimelineSummary& summary) {
  const RankSteps* slowest = summary.slowest_rank();
  std::string text = cat("Steps ", summary.ended_early.empty() ? "" : "until the recording ended ",
                         "of each rank, on average.");
  if (slowest == nullptr) return text;
  return cat(text, " Rank ", slowest->rank, " has the most work, ", percent(summary.slowest_rank_excess(), 1),
             " more than the others. Data moves between ranks for ", milliseconds(summary.communication),
             " a step, ", percent(summary.hidden, 0), " of it while they compute.");
}

std::string layers_table(const TimelineSummary& summary) {
  if (summary.layers.empty()) return "";
  std::string html =
      "<details open><summary>Slowest layers</summary>\n<div class=\"wide\"><table class=\"epochs\"><thead>"
      "<tr><th>layer</th><th>forward</th><th>backward</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(TimelineSummary::kLayersShown, summary.layers.size()); ++i) {
    const LayerSteps& layer = summary.layers[i];
    html += cat("<tr><td>", escaped(layer.name), "</td><td>", milliseconds(layer.forward), "</td><td>",
                milliseconds(layer.backward), "</td></tr>\n");
  }
  return html + "</tbody></table></div></details>\n";
}

}  // namespace

std::string timeline_section(const TimelineSummary& summary) {
  if (summary.ranks.empty()) return "";
  std::string bars;
  for (std::size_t i = 0; i < std::min(kRanksShown, summary.ranks.size()); ++i)
    bars += rank_bar(summary.ranks[i]);
  return cat("<section><h2>A training step</h2>\n<p class=\"note\">", escaped(findings(summary)), "</p>\n",
             bars, key(summary), layers_table(summary), "</section>\n");
}

}  // namespace ronde::apps
