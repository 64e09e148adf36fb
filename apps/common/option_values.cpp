// The setters of command_line.h: from text to values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <ronde/core/text.h>

#include "common/command_line.h"

namespace ronde::apps {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::optional<std::int64_t> parse_whole(const std::string& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

template <class Target>
Setter whole(Target& target, std::int64_t least, std::int64_t most = kMost) {
  return [&target, least, most](const std::string& value) -> std::string {
    const std::optional<std::int64_t> number = parse_whole(value);
    if (!number || *number < least || *number > most)
      return cat("give a whole number from ", least, " to ", most);
    target = *number;
    return "";
  };
}

}  // namespace

Setter whole_number(std::optional<std::int64_t>& target, std::int64_t least) {
  return whole(target, least);
}
Setter whole_number(std::int64_t& target, std::int64_t least) {
  return whole(target, least);
}
Setter whole_number(std::int64_t& target, std::int64_t least, std::int64_t most) {
  return whole(target, least, most);
}

Setter positive_number(std::optional<double>& target) {
  return [&target](const std::string& value) -> std::string {
    double number = 0.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_number =
        error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
    if (!is_number || number <= 0.0) return "give a number greater than 0";
    target = number;
    return "";
  };
}

Setter positive_number(double& target) {
  return [&target](const std::string& value) -> std::string {
    std::optional<double> number;
    const std::string problem = positive_number(number)(value);
    if (problem.empty()) target = *number;
    return problem;
  };
}

Setter seconds_or_never(std::optional<double>& target) {
  return [&target](const std::string& value) -> std::string {
    std::optional<double> seconds;
    const std::string problem = value == "0" ? "" : positive_number(seconds)(value);
    if (!problem.empty()) return cat(problem, ", or 0 for never");
    target = seconds.value_or(0.0);
    return "";
  };
}

Setter seconds_or_never(double& target) {
  return [&target](const std::string& value) -> std::string {
    std::optional<double> seconds;
    std::string problem = seconds_or_never(seconds)(value);
    target = seconds.value_or(target);
    return problem;
  };
}

Setter seconds_or_at_once(double& target) {
  return [&target](const std::string& value) -> std::string {
    const std::string problem = value == "0" ? "" : positive_number(target)(value);
    if (!problem.empty()) return cat(problem, ", or 0 for at once");
    if (value == "0") target = 0.0;
    return "";
  };
}

Setter boolean(bool& target) {
  return [&target](const std::string& value) -> std::string {
    const bool yes = value == "true" || value == "1" || value == "on" || value == "yes";
    const bool no = value == "false" || value == "0" || value == "off" || value == "no";
    if (!yes && !no) return "give true or false";
    target = yes;
    return "";
  };
}

Setter text(std::string& target) {
  return [&target](const std::string& value) -> std::string {
    if (value.empty()) return "give a value that is not empty";
    target = value;
    return "";
  };
}

Setter one_of(std::string& target, std::vector<std::string> values) {
  return [&target, values = std::move(values)](const std::string& value) -> std::string {
    if (std::find(values.begin(), values.end(), value) == values.end())
      return "give one of " + joined(values);
    target = value;
    return "";
  };
}

}  // namespace ronde::apps
