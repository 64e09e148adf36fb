#include "callbacks/progress_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kShortestBar = 10;

template <class... Values>
std::string print(const char* format, Values... values) {
  std::array<char, 512> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

std::string count_text(const ProgressState& state) {
  const std::string target = std::to_string(state.target);
  return print("%*lld/", static_cast<int>(target.size()), static_cast<long long>(state.steps)) + target;
}

std::string rate_text(double seconds, const char* unit) {
  if (seconds >= 1.0 || seconds == 0.0) return formatted("%.0fs/", seconds) + unit;
  if (seconds >= 1e-3) return formatted("%.0fms/", seconds * 1e3) + unit;
  return formatted("%.0fus/", seconds * 1e6) + unit;
}

std::string remaining_text(double seconds) {
  const auto s = static_cast<long long>(seconds);
  if (seconds > 3600) return print("%lld:%02lld:%02lld", s / 3600, s % 3600 / 60, s % 60);
  if (seconds > 60) return print("%lld:%02lld", s / 60, s % 60);
  return print("%llds", s);
}

std::string values_text(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs.entries())
    text += " - " + name + formatted(std::abs(value) > 1e-3 ? ": %.4f" : ": %.4e", value);
  return text;
}

std::string speed_text(const ProgressState& state) {
  const double speed = state.samples_per_second;
  if (speed <= 0.0) return {};
  return formatted(speed >= 10.0 ? " - %.0f " : " - %.1f ", speed) +
         (state.are_images ? "images/s" : "samples/s");
}

std::string arrow_text(const ProgressState& state) {
  const auto width = static_cast<std::size_t>(state.bar_width);
  const auto done =
      static_cast<std::size_t>(state.bar_width * state.steps / std::max<std::int64_t>(state.target, 1));
  std::string bar;
  if (done > 0) bar = std::string(done - 1, '=') + (state.steps < state.target ? '>' : '=');
  return "[" + bar + std::string(width - bar.size(), '.') + "]";
}

}  // namespace

std::string bar_text(const ProgressState& state, const Logs& logs, bool final) {
  const double remaining = state.seconds_per_step * static_cast<double>(state.target - state.steps);
  const std::string time =
      final ? formatted("%.0fs ", state.seconds) + rate_text(state.seconds_per_step, "step")
            : "ETA: " + remaining_text(remaining);
  return count_text(state) + " " + arrow_text(state) + " - " + time + values_text(logs) + speed_text(state);
}

std::string fitting_bar_text(ProgressState state, const Logs& logs, std::size_t columns) {
  std::string text = bar_text(state, logs, false);
  if (text.size() > columns) {
    const auto excess = static_cast<std::int64_t>(text.size() - columns);
    state.bar_width = std::max(state.bar_width - excess, kShortestBar);
    text = bar_text(state, logs, false);
  }
  return text.substr(0, columns);
}

std::string line_text(const ProgressState& state, const Logs& logs) {
  return count_text(state) + formatted(" - %.0fs", state.seconds) + values_text(logs) + " - " +
         rate_text(state.seconds, "epoch") + " - " + rate_text(state.seconds_per_step, "step") +
         speed_text(state);
}

}  // namespace ronde::inline v0
