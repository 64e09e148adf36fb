#include "report/timeline_rows.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <ronde/core/error.h>
#include <nlohmann/json.hpp>

namespace ronde::apps {
namespace {

using Parsed = nlohmann::json;

constexpr std::string_view kListBegins = "\"traceEvents\":[";
constexpr double kLongest = 0x1p62;  // nanoseconds; a beginning and a duration can be added

void read_header(const Parsed& header, TimelineRows& timeline) {
  const Parsed& facts = header.at("otherData");
  require<InputError>(facts.value("made by", "") == "Ronde", "was not made by Ronde");
  timeline.clock_error = facts.value("clocks agree within microseconds", 0.0) / 1e6;
  timeline.lost = facts.value("events lost", std::int64_t{0});
  timeline.ended_early = facts.value("recording ended early", "");
}

std::int64_t nanoseconds(const Parsed& microseconds) {
  const double time = 1e3 * microseconds.get<double>();
  require<InputError>(std::abs(time) < kLongest, "has a time of ", time, " ns");
  return std::llround(time);
}

void read_event(std::string_view line, TimelineRows& timeline) {
  const Parsed event = Parsed::parse(line);
  if (event.at("ph") != "X") return;
  const std::int64_t begin = nanoseconds(event.at("ts"));
  timeline.rows[{event.at("pid").get<int>(), event.at("tid").get<int>()}].push_back(
      {.begin = begin,
       .end = begin + nanoseconds(event.at("dur")),
       .category = event.at("cat").get<std::string>(),
       .name = event.at("name").get<std::string>()});
}

/// Without what stands between two events: commas, and spaces that fill a page.
std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find_last_not_of(" ,") + 1);
  if (line.ends_with("]}")) line = line.substr(0, line.find_last_not_of(' ', line.size() - 3) + 1);
  return line;
}

void read_lines(std::string_view text, TimelineRows& timeline) {
  const std::size_t begin = text.find(kListBegins);
  require<InputError>(begin != std::string_view::npos && begin < 4096, "is no timeline of Ronde");
  read_header(Parsed::parse(std::string(text.substr(0, begin)) + "\"traceEvents\":[]}"), timeline);
  text.remove_prefix(begin + kListBegins.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const std::string_view event = trimmed(line); event.starts_with('{')) read_event(event, timeline);
  }
}

}  // namespace

TimelineRows read_timeline_rows(const std::string& text, const std::string& source) {
  TimelineRows timeline;
  try {
    read_lines(text, timeline);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(cat(source, ": ", error.what()));
  } catch (const InputError& error) {
    throw InputError(cat(source, ": ", error.what()));
  }
  // Parts are in the order of ends; an outer event, which is longer, comes first.
  for (auto& [place, events] : timeline.rows)
    std::stable_sort(events.begin(), events.end(), [](const TimelineEvent& a, const TimelineEvent& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  return timeline;
}

}  // namespace ronde::apps
