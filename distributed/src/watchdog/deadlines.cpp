#include "watchdog/deadlines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

constexpr double kShortestStart = 60.0;  // of many ranks on few cores, while something else runs there

double seconds_from(const std::string& variable, const char* what_zero_is, double otherwise) {
  const char* text = std::getenv(variable.c_str());
  if (!text || !*text) return otherwise;
  double seconds = 0.0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, seconds);
  require<UsageError>(
      parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(seconds) && seconds >= 0.0, variable,
      " expects seconds, or 0 for ", what_zero_is, ", got ", text);
  return seconds;
}

double phase_from(const char* name, double otherwise) {
  const double seconds = seconds_from(cat(Deadlines::kVariable, name), "ever", otherwise);
  return seconds > 0.0 ? seconds : std::numeric_limits<double>::infinity();
}

Deadlines with_exceptions(double all) {
  return {.operation = all,
          .start = phase_from("_START", std::max(all, kShortestStart)),
          .loader = phase_from("_LOADER", all),
          .checkpoint = phase_from("_CHECKPOINT", all)};
}

}  // namespace

double Deadlines::of(WatchedWork work) const {
  switch (work) {
    case WatchedWork::loader:
      return loader;
    case WatchedWork::checkpoint:
      return checkpoint;
    case WatchedWork::none:
      break;
  }
  return operation;
}

double Deadlines::shortest() const {
  return std::min({operation, start, loader, checkpoint});
}

double Deadlines::longest() const {
  return std::max({operation, loader, checkpoint});
}

std::optional<Deadlines> deadlines_from_environment() {
  const double all = seconds_from(Deadlines::kVariable, "no watchdog", Deadlines().operation);
  const Deadlines deadlines = with_exceptions(all);
  if (all == 0.0) return {};
  return deadlines;
}

double meeting_patience() {
  return phase_from("_START", kShortestStart);
}

JobDeadlines job_deadlines(const std::optional<Deadlines>& deadlines) {
  const double ever = std::numeric_limits<double>::infinity();
  if (!deadlines) return {.start = ever, .later = ever};
  return {.start = deadlines->start, .later = deadlines->longest()};
}

const char* describe(WatchedWork work) {
  switch (work) {
    case WatchedWork::loader:
      return "waiting for the data loader";
    case WatchedWork::checkpoint:
      return "writing a checkpoint";
    case WatchedWork::none:
      break;
  }
  return "in no phase";
}

}  // namespace ronde::inline v0
