#include "report/timeline_summary.h"

#include <algorithm>
#include <map>

#include "report/timeline_rows.h"

namespace ronde::apps {
namespace {

using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;  // nanoseconds; in order, disjoint

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

enum class Part { none, compute, wait, loader, callbacks };

Part part_of(const std::string& category) {
  static const std::map<std::string, Part> parts{
      {"forward", Part::compute},      {"backward", Part::compute},   {"loss", Part::compute},
      {"optimizer", Part::compute},    {"launch", Part::compute},     {"wait", Part::wait},
      {"communication", Part::wait},   {"meeting", Part::wait},       {"transfer", Part::wait},
      {"loader", Part::loader},        {"callback", Part::callbacks}, {"checkpoint", Part::callbacks},
      {"evaluation", Part::callbacks}, {"parallel", Part::none},
  };
  const auto found = parts.find(category);
  return found == parts.end() ? Part::none : found->second;
}

/// An event of the training's row, and what of its time belongs to none of those within it.
struct OwnTime {
  const TimelineEvent* event = nullptr;
  Part part = Part::none;
  bool is_in_step = false;
  std::int64_t nanoseconds = 0;
};

/// What happens within a callback, an evaluation or a wait counts as that, computation too.
Part inherited(Part own, Part outer) {
  if (own == Part::none) return outer;
  return own == Part::compute && outer != Part::none ? outer : own;
}

std::vector<OwnTime> own_times(const std::vector<TimelineEvent>& events) {
  std::vector<OwnTime> times;
  std::vector<std::size_t> open;
  for (const TimelineEvent& event : events) {
    while (!open.empty() && times[open.back()].event->end <= event.begin) open.pop_back();
    OwnTime time{.event = &event,
                 .part = part_of(event.category),
                 .is_in_step = event.category == "step",
                 .nanoseconds = event.end - event.begin};
    if (!open.empty()) {
      OwnTime& outer = times[open.back()];
      outer.nanoseconds -= time.nanoseconds;
      time.is_in_step = time.is_in_step || outer.is_in_step;
      time.part = inherited(time.part, outer.part);
    }
    open.push_back(times.size());
    times.push_back(time);
  }
  return times;
}

double common_time(const Intervals& a, const Intervals& b) {
  std::int64_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common +=
        std::max<std::int64_t>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    a[i].second < b[j].second ? ++i : ++j;
  }
  return seconds(common);
}

double length(const Intervals& intervals) {
  std::int64_t length = 0;
  for (const auto& [begin, end] : intervals) length += end - begin;
  return seconds(length);
}

void add(Intervals& intervals, std::int64_t begin, std::int64_t end) {
  if (!intervals.empty() && begin <= intervals.back().second)
    intervals.back().second = std::max(intervals.back().second, end);
  else
    intervals.emplace_back(begin, end);
}

/// When data moved, on any thread of the rank, while the training was in one of its steps.
Intervals transfers(const TimelineRows& timeline, int process, const Intervals& steps) {
  Intervals all;
  for (const auto& [place, events] : timeline.rows)
    for (const TimelineEvent& event : events)
      if (place.first == process && event.category == "transfer") all.emplace_back(event.begin, event.end);
  std::sort(all.begin(), all.end());
  Intervals within;
  for (const auto& [begin, end] : all)
    if (common_time({{begin, end}}, steps) > 0.0) add(within, begin, end);
  return within;
}

class Summary {
 public:
  explicit Summary(const TimelineRows& timeline) : timeline_(timeline) {
    result_.clock_error = timeline.clock_error;
    result_.lost = timeline.lost;
    result_.ended_early = timeline.ended_early;
  }
  void add_row(int process, const std::vector<TimelineEvent>& events);
  TimelineSummary finish();

 private:
  void add_layer(const OwnTime& time);

  const TimelineRows& timeline_;
  TimelineSummary result_;
  std::map<std::string, LayerSteps> layers_;
  double steps_ = 0.0, moved_ = 0.0, exposed_ = 0.0;  // of all ranks
};

void Summary::add_layer(const OwnTime& time) {
  const TimelineEvent& event = *time.event;
  const bool is_layer = time.part == Part::compute && event.name != event.category;
  if (!is_layer || (event.category != "forward" && event.category != "backward")) return;
  LayerSteps& layer = layers_[event.name];
  (event.category == "forward" ? layer.forward : layer.backward) += seconds(time.nanoseconds);
}

void Summary::add_row(int process, const std::vector<TimelineEvent>& events) {
  RankSteps rank{.rank = process};
  Intervals steps, waits;
  double waiting = 0.0;
  for (const OwnTime& time : own_times(events)) {
    if (!time.is_in_step) continue;
    if (time.event->category == "step") {
      ++rank.steps;
      rank.total += seconds(time.event->end - time.event->begin);
      add(steps, time.event->begin, time.event->end);
    }
    if (time.part == Part::compute) rank.compute += seconds(time.nanoseconds);
    if (time.part == Part::loader) rank.loader += seconds(time.nanoseconds);
    if (time.part == Part::callbacks) rank.callbacks += seconds(time.nanoseconds);
    if (time.part == Part::wait) waiting += seconds(time.nanoseconds);
    if (time.part == Part::wait) add(waits, time.event->begin, time.event->end);
    add_layer(time);
  }
  if (rank.steps == 0) return;
  const Intervals moved = transfers(timeline_, process, steps);
  rank.exchange = std::min(waiting, common_time(moved, waits));
  rank.waiting = waiting - rank.exchange;
  moved_ += length(moved);
  exposed_ += rank.exchange;
  const auto count = static_cast<double>(rank.steps);
  steps_ += count;
  for (double* part :
       {&rank.total, &rank.compute, &rank.exchange, &rank.waiting, &rank.loader, &rank.callbacks})
    *part /= count;
  result_.ranks.push_back(rank);
}

TimelineSummary Summary::finish() {
  if (steps_ == 0.0) return result_;
  result_.communication = moved_ / steps_;
  result_.hidden = moved_ > 0.0 ? 1.0 - exposed_ / moved_ : 0.0;
  for (auto& [name, layer] : layers_)
    result_.layers.push_back(
        {.name = name, .forward = layer.forward / steps_, .backward = layer.backward / steps_});
  std::sort(result_.layers.begin(), result_.layers.end(), [](const LayerSteps& a, const LayerSteps& b) {
    return a.forward + a.backward > b.forward + b.backward;
  });
  return result_;
}

}  // namespace

const RankSteps* TimelineSummary::slowest_rank() const {
  if (ranks.size() < 2) return nullptr;
  return &*std::max_element(ranks.begin(), ranks.end(),
                            [](const RankSteps& a, const RankSteps& b) { return a.work() < b.work(); });
}

double TimelineSummary::slowest_rank_excess() const {
  const RankSteps* slowest = slowest_rank();
  if (slowest == nullptr) return 0.0;
  std::vector<double> others;
  for (const RankSteps& rank : ranks)
    if (&rank != slowest) others.push_back(rank.work());
  const auto middle = others.begin() + (std::ssize(others) - 1) / 2;
  std::nth_element(others.begin(), middle, others.end());
  return *middle > 0.0 ? slowest->work() / *middle - 1.0 : 0.0;
}

TimelineSummary summarize_timeline(const std::string& text, const std::string& source) {
  const TimelineRows timeline = read_timeline_rows(text, source);
  Summary summary(timeline);
  for (const auto& [place, events] : timeline.rows) summary.add_row(place.first, events);
  return summary.finish();
}

}  // namespace ronde::apps
